import { z } from 'zod';
import { parseDuration } from '../values/duration.ts';

/** The schema of a duration. The parsed duration is in milliseconds. */
export const durationMs = z.union([z.number().nonnegative(), z.string()]).transform((value, context) => {
  const ms = typeof value === 'number' ? value : parseDuration(value);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be a duration such as 500ms, 5s or 1m30s' });
  return z.NEVER;
});

/**
 * The behavior of a simulated kubelet. A later source takes precedence over an earlier source.
 *
 * 1. the flags of the process
 * 2. the user data (`kubelet:`)
 * 3. fault rules for `instances.boot`
 * 4. `PUT /instances/<id>/kubelet`
 */
export const kubeletBehaviour = z.strictObject({
  /** Whether the machine joins. With `never`, the machine boots, but its kubelet does not start. */
  join: z.enum(['normal', 'never']).optional(),
  joinDelay: durationMs.optional(),
  /** The time between the registration of the Node and its condition Ready. */
  readyDelay: durationMs.optional(),
  /** Whether the Node is Ready (default: true). */
  ready: z.boolean().optional(),
  /** Whether the kubelet sends no requests (no Lease, no status, no pods), although the machine runs. */
  silent: z.boolean().optional(),
  /** Additional conditions of the Node by type, such as `{"KernelDeadlock": "True"}`. */
  conditions: z.record(z.string().min(1), z.enum(['True', 'False', 'Unknown'])).optional(),
  /**
   * The time between the deletion of a pod and the end of its containers: the whole grace period, no time, or a
   * duration.
   */
  podShutdown: z.union([z.enum(['grace', 'immediate']), durationMs]).optional(),
  /** The time between a pod's start and its condition Ready. */
  podReadyDelay: durationMs.optional(),
  update: z.enum(['succeed', 'fail', 'hang']).optional(),
  updateDelay: durationMs.optional(),
  updateFailure: z.string().min(1).max(1024).optional(),
  /** Whether a simulated machine-config daemon runs on the machine. */
  configDaemon: z.boolean().optional(),
  config: z.enum(['apply', 'fail', 'hang']).optional(),
  configDelay: durationMs.optional(),
  configFailure: z.string().min(1).max(4096).optional(),
  /** Whether a machine starts again after a reboot. With `never`, the machine does not start again after a reboot. */
  reboot: z.enum(['normal', 'never']).optional(),
  rebootDelay: durationMs.optional(),
  /** The path of a file that a simulated user changes on the node. An empty path restores the file. */
  drift: z.union([z.literal(''), z.string().startsWith('/')]).optional(),
  /** The interruption notice that the machine gets. If `notice` is empty, the machine is not interrupted. */
  notice: z.string().max(2_048).optional(),
  consoleText: z.string().max(32_768).optional(),
});

/**
 * The behavior of a simulated kubelet. By default, the kubelet joins at once, becomes Ready, and uses the whole grace
 * period.
 */
export type KubeletBehaviour = z.infer<typeof kubeletBehaviour>;

/** Merges behaviors. If several arguments set a field, the last one takes precedence. */
export function layerBehaviour(...layers: readonly (KubeletBehaviour | undefined)[]): KubeletBehaviour {
  const merged: Record<string, unknown> = {};
  for (const layer of layers)
    for (const [field, value] of Object.entries(layer ?? {})) if (value !== undefined) merged[field] = value;
  return merged;
}
