import { z } from 'zod';
import { parseDuration } from '../values/duration.ts';

/** A duration as text (`5s`) or as a number of milliseconds; milliseconds inside. */
export const durationMs = z.union([z.number().nonnegative(), z.string()]).transform((value, context) => {
  const ms = typeof value === 'number' ? value : parseDuration(value);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be a duration such as 500ms, 5s or 1m30s' });
  return z.NEVER;
});

/**
 * How a hollow kubelet behaves. Set in four places, where later places take precedence: the process's flags, the user data
 * (`kubelet:`), fault rules on `instances.boot`, and `PUT /instances/<id>/kubelet`.
 */
export const kubeletBehaviour = z.strictObject({
  /** `never`: the machine boots, its kubelet does not come up. */
  join: z.enum(['normal', 'never']).optional(),
  /** Between power-on and the first request. */
  joinDelay: durationMs.optional(),
  /** Between the Node's registration and its Ready condition. */
  readyDelay: durationMs.optional(),
  /** False: the kubelet says that the node is not ready. */
  ready: z.boolean().optional(),
  /** True: the machine runs, its kubelet does nothing (no Lease, no status, no pods). */
  silent: z.boolean().optional(),
  /** More conditions of the node, by type, e.g. `{"KernelDeadlock": "True"}`. */
  conditions: z.record(z.string().min(1), z.enum(['True', 'False', 'Unknown'])).optional(),
  /** Time until containers end on request: their pod's whole grace period, no time, or a duration. */
  podShutdown: z.union([z.enum(['grace', 'immediate']), durationMs]).optional(),
  /** Between a pod's arrival and its Ready condition. */
  podReadyDelay: durationMs.optional(),
  /** Result of an update in place: its agent succeeds, fails, or never reports. */
  update: z.enum(['succeed', 'fail', 'hang']).optional(),
  /** How long an update in place takes; 1 s by default. */
  updateDelay: durationMs.optional(),
  /** Why an update in place fails. */
  updateFailure: z.string().min(1).max(1024).optional(),
  /** True: the machine plays the daemon of machine configs. */
  configDaemon: z.boolean().optional(),
  /** Result of a new config: it is applied, fails, or never completes. */
  config: z.enum(['apply', 'fail', 'hang']).optional(),
  /** How long applying takes; 1 s by default. */
  configDelay: durationMs.optional(),
  /** Why applying fails. */
  configFailure: z.string().min(1).max(4096).optional(),
  /** `never`: a machine that reboots does not come back. */
  reboot: z.enum(['normal', 'never']).optional(),
  /** How long a reboot takes; 2 s by default. */
  rebootDelay: durationMs.optional(),
  /** A manually changed file; empty: it is restored. */
  drift: z.union([z.literal(''), z.string().startsWith('/')]).optional(),
  /** Written to the serial console at boot. */
  consoleText: z.string().max(32_768).optional(),
});

/** Default values: join at once, become ready, honour grace periods. */
export type KubeletBehaviour = z.infer<typeof kubeletBehaviour>;

/** Later layers win, field by field. */
export function layerBehaviour(...layers: readonly (KubeletBehaviour | undefined)[]): KubeletBehaviour {
  const merged: Record<string, unknown> = {};
  for (const layer of layers)
    for (const [field, value] of Object.entries(layer ?? {})) if (value !== undefined) merged[field] = value;
  return merged;
}
