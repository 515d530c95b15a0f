/** What the daemon says of a node, in {@link NodeAnnotations.State}. Case matters. */
export const DaemonStates = {
  Done: 'Done',
  Working: 'Working',
  Degraded: 'Degraded',
  Unreconcilable: 'Unreconcilable',
  Rebooting: 'Rebooting',
  /** Ours: a node that was there before its daemon has no config yet, and is told its first one in its turn. */
  Waiting: 'Waiting',
} as const;

/** A state of the daemon. */
export type DaemonState = (typeof DaemonStates)[keyof typeof DaemonStates];
