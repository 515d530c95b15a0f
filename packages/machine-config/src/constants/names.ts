/** Name of the one ControllerConfig. */
export const CONTROLLER_CONFIG_NAME = 'machine-config-controller';

/** Taint of nodes that wait for an update: pods are better placed elsewhere. */
export const UPDATE_IN_PROGRESS_TAINT = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' } as const;

/** Pools that are not custom. */
export const MASTER_POOL = 'master';
/** The pool of every node that no other one selects. */
export const WORKER_POOL = 'worker';
/** The pool of arbiter nodes. */
export const ARBITER_POOL = 'arbiter';

/** Path of the kubelet's configuration on a node. */
export const KUBELET_CONF_PATH = '/etc/kubernetes/kubelet.conf';

/** A file that makes the daemon rewrite everything; no configuration may hold it. */
export const FORCE_FILE_PATH = '/run/machine-config-daemon-force';

/** Largest rendered MachineConfig as JSON, in bytes: what etcd takes. */
export const MAX_RENDERED_BYTES = 1_572_864;

/** From this share of {@link MAX_RENDERED_BYTES} on a warning is given. */
export const LARGE_RENDERED_SHARE = 0.8;

/** How many rendered MachineConfigs that nobody names are kept for each pool, the newest. */
export const KEPT_RENDERS = 10;
