"""All definitions, in the order of the papers."""

import bp_wrapper
import many_processors
import nb_gclock
import thesis_3
import thesis_4
import thesis_5
import thesis_6_examples
import thesis_6_layouts
import thesis_6_model
import thesis_6_workloads
import thread_specific

ALL = [*thesis_3.EXPERIMENTS, *thesis_4.EXPERIMENTS, *thesis_5.EXPERIMENTS, *thesis_6_model.EXPERIMENTS,
       *thesis_6_examples.EXPERIMENTS, *thesis_6_layouts.EXPERIMENTS, *thesis_6_workloads.EXPERIMENTS,
       *bp_wrapper.EXPERIMENTS, *nb_gclock.EXPERIMENTS, *thread_specific.EXPERIMENTS,
       *many_processors.EXPERIMENTS]
