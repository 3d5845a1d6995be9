"""A TensorFlow server in a process of its own: ``python server.py CLUSTER JOB INDEX``."""

import json
import sys

import tensorflow as tf

cluster = tf.train.ClusterSpec(json.loads(sys.argv[1]))
config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)
server = tf.distribute.Server(
    cluster, job_name=sys.argv[2], task_index=int(sys.argv[3]), protocol="grpc", config=config
)
sys.stdout.write("up\n")
sys.stdout.flush()
server.join()
