import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, strings } from '../../../apimachinery/objects/plain.ts';
import { conditionOf, isDying } from '../../objects/fields.ts';
import { isOutOfService, isShared } from './attachments.ts';

export interface Wanted {
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly volume: ApiObject;
  readonly pods: readonly ApiObject[];
  readonly holders: readonly string[];
}

interface KnownAttachment {
  readonly attachment: ApiObject;
  readonly id: string;
  readonly unwantedSince: number | undefined;
}

export interface NodeView {
  readonly name: string;
  readonly node: ApiObject | undefined;
  readonly attachments: readonly KnownAttachment[];
  readonly wanted: readonly Wanted[];
  readonly now: number;
}

export interface AttachPlan {
  readonly attached: readonly { readonly name: string; readonly use: Wanted | undefined }[];
  readonly detach: readonly string[];
  /** The attachments that wait for their detachment. Each value is the time since which no pod needs the attachment. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly lookAgainAt: number | undefined;
  readonly create: readonly Wanted[];
  readonly refuse: readonly Wanted[];
}

const FORCE_DETACH_MS = 6 * 60 * 1000;

/**
 * Returns the time at which the controller detaches a mounted volume by force:
 *
 * - immediately, if the node is out of service,
 * - after six minutes, if the node is unhealthy or deleted,
 * - never, if the node is healthy.
 */
function forcedAt(node: ApiObject | undefined, since: number): number {
  if (isOutOfService(node)) return 0;
  const isHealthy = node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
  return isHealthy ? Number.POSITIVE_INFINITY : since + FORCE_DETACH_MS;
}

export function decide({ name: nodeName, node, attachments, wanted, now }: NodeView): AttachPlan {
  const uses = new Map(wanted.map((use) => [use.name, use]));
  const inUse = new Set(strings(look(node, 'status'), 'volumesInUse'));
  const attached: AttachPlan['attached'][number][] = [];
  const detach: string[] = [];
  const waiting = new Map<string, number>();
  let lookAgainAt: number | undefined;
  for (const { attachment, id, unwantedSince = now } of attachments) {
    const { name = '' } = attachment.metadata;
    const use = uses.get(name);
    if (use !== undefined || isDying(attachment)) {
      uses.delete(name);
      if (look(attachment, 'status').attached !== true && !isDying(attachment)) attached.push({ name, use });
      continue;
    }
    // The controller does not know the mounts of a deleted node, so the volume counts as mounted.
    const mounted = node === undefined || inUse.has(id);
    const until = mounted ? forcedAt(node, unwantedSince) : 0;
    if (now >= until) {
      detach.push(name);
      continue;
    }
    waiting.set(name, unwantedSince);
    if (until !== Number.POSITIVE_INFINITY) lookAgainAt = Math.min(until, lookAgainAt ?? until);
  }
  const missing = node === undefined || isDying(node) ? [] : [...uses.values()];
  const isTaken = ({ volume, holders }: Wanted): boolean =>
    !isShared(volume) && holders.some((holder) => holder !== nodeName);
  return {
    attached,
    detach,
    waiting,
    lookAgainAt,
    create: missing.filter((use) => !isTaken(use)),
    refuse: missing.filter(isTaken),
  };
}
