/** Name of the only ControllerConfig. */
export const CONTROLLER_CONFIG_NAME = 'machine-config-controller';

/** Taint of nodes that wait for an update, so that the scheduler prefers other nodes. */
export const UPDATE_IN_PROGRESS_TAINT = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' } as const;

/** The pool of control plane nodes. */
export const MASTER_POOL = 'master';
/** The default pool of nodes. */
export const WORKER_POOL = 'worker';
/** The pool of arbiter nodes. */
export const ARBITER_POOL = 'arbiter';

/** Path of the kubelet's configuration on a node. */
export const KUBELET_CONF_PATH = '/etc/kubernetes/kubelet.conf';

/** A file with which a user requests that the daemon writes all files again; a config must not contain it. */
export const FORCE_FILE_PATH = '/run/machine-config-daemon-force';

/** Limit of etcd for a rendered MachineConfig as JSON, in bytes. */
export const MAX_RENDERED_BYTES = 1_572_864;

/** If the size of a rendered MachineConfig exceeds this share of {@link MAX_RENDERED_BYTES}, the controller warns. */
export const LARGE_RENDERED_SHARE = 0.8;

/** The number of unused rendered MachineConfigs that the controller keeps for each pool. */
export const KEPT_RENDERS = 10;
