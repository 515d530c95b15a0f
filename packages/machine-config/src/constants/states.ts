/** The states of the daemon, which are the values of {@link NodeAnnotations.State}. */
export const DaemonStates = {
  Done: 'Done',
  Working: 'Working',
  Degraded: 'Degraded',
  Unreconcilable: 'Unreconcilable',
  Rebooting: 'Rebooting',
  /** The node is older than its daemon, has no config yet, and waits for its first target. Only in mcm. */
  Waiting: 'Waiting',
} as const;

/** A state of the daemon. */
export type DaemonState = (typeof DaemonStates)[keyof typeof DaemonStates];
