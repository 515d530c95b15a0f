import { z } from 'zod';
import { parseDuration } from '../values/duration.ts';

/** A duration as a text (`5s`) or as a number of milliseconds. The result is in milliseconds. */
export const durationMs = z.union([z.number().nonnegative(), z.string()]).transform((value, context) => {
  const ms = typeof value === 'number' ? value : parseDuration(value);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be a duration such as 500ms, 5s or 1m30s' });
  return z.NEVER;
});

/**
 * The behavior of a simulated kubelet. A later source in the list takes precedence over an earlier source.
 * 1. the flags of the process
 * 2. the user data (`kubelet:`)
 * 3. fault rules for `instances.boot`
 * 4. `PUT /instances/<id>/kubelet`
 */
export const kubeletBehaviour = z.strictObject({
  /** `never`: the machine boots, but its kubelet does not start. */
  join: z.enum(['normal', 'never']).optional(),
  /** The time between the power-on and the first request. */
  joinDelay: durationMs.optional(),
  /** The time between the registration of the Node and its condition Ready. */
  readyDelay: durationMs.optional(),
  /** If false, the kubelet reports that the node is NotReady. */
  ready: z.boolean().optional(),
  /** If true, the machine runs, but its kubelet sends no requests (no Lease, no status, no pods). */
  silent: z.boolean().optional(),
  /** Additional conditions of the Node by type, such as `{"KernelDeadlock": "True"}`. */
  conditions: z.record(z.string().min(1), z.enum(['True', 'False', 'Unknown'])).optional(),
  /** The time from the deletion of a pod until its containers end: the whole grace period, no time, or a duration. */
  podShutdown: z.union([z.enum(['grace', 'immediate']), durationMs]).optional(),
  /** The time between a pod's start and its condition Ready. */
  podReadyDelay: durationMs.optional(),
  /** The result of an update in place: the agent succeeds, fails, or never reports. */
  update: z.enum(['succeed', 'fail', 'hang']).optional(),
  /** The duration of an update in place; default 1 s. */
  updateDelay: durationMs.optional(),
  /** The reason why an update in place fails. */
  updateFailure: z.string().min(1).max(1024).optional(),
  /** If true, a simulated machine-config daemon runs on the machine. */
  configDaemon: z.boolean().optional(),
  /** The result of a new config: the config is applied, fails, or never completes. */
  config: z.enum(['apply', 'fail', 'hang']).optional(),
  /** The duration of applying a config; default 1 s. */
  configDelay: durationMs.optional(),
  /** The reason why applying a config fails. */
  configFailure: z.string().min(1).max(4096).optional(),
  /** `never`: the machine does not start again after a reboot. */
  reboot: z.enum(['normal', 'never']).optional(),
  /** The duration of a reboot; default 2 s. */
  rebootDelay: durationMs.optional(),
  /** The path of a file that a simulated user changes. An empty path restores the file. */
  drift: z.union([z.literal(''), z.string().startsWith('/')]).optional(),
  /**
   * The interruption that the metadata service of the machine reports, in the format of the annotation of the Node. Empty:
   * no interruption.
   */
  notice: z.string().max(2_048).optional(),
  /** A text that is written to the serial console at boot. */
  consoleText: z.string().max(32_768).optional(),
});

/** Without settings, the kubelet joins at once, becomes Ready and uses the whole grace period. */
export type KubeletBehaviour = z.infer<typeof kubeletBehaviour>;

/** Merges behaviors. For each field, the last argument with a value takes precedence. */
export function layerBehaviour(...layers: readonly (KubeletBehaviour | undefined)[]): KubeletBehaviour {
  const merged: Record<string, unknown> = {};
  for (const layer of layers)
    for (const [field, value] of Object.entries(layer ?? {})) if (value !== undefined) merged[field] = value;
  return merged;
}
