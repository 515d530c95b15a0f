import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, strings } from '../../../apimachinery/objects/plain.ts';
import { conditionOf, isDying } from '../../runtime/objects.ts';
import { isOutOfService, isShared } from './attachments.ts';

/** A volume that pods of a node use. */
export interface Wanted {
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly volume: ApiObject;
  readonly pods: readonly ApiObject[];
  /** The nodes to which the volume is attached. */
  readonly holders: readonly string[];
}

/** A VolumeAttachment of the node. */
interface KnownAttachment {
  readonly attachment: ApiObject;
  /** The unique name of the volume in the status of the node. */
  readonly id: string;
  /**
   * The start of the state in which the attachment is unwanted but the volume is still mounted, in milliseconds. In any
   * other state, `unwantedSince` is undefined.
   */
  readonly unwantedSince: number | undefined;
}

/** A node with its attachments and the volumes that its pods use. */
export interface NodeView {
  readonly name: string;
  /** The Node object, or undefined if the Node no longer exists. */
  readonly node: ApiObject | undefined;
  readonly attachments: readonly KnownAttachment[];
  readonly wanted: readonly Wanted[];
  /** The current time in milliseconds since the epoch. */
  readonly now: number;
}

export interface AttachPlan {
  /** The attachments to report as attached, each with the pods that use the volume. */
  readonly attached: readonly { readonly name: string; readonly use: Wanted | undefined }[];
  /** The names of the attachments that the controller deletes. */
  readonly detach: readonly string[];
  /** Unwanted attachments whose volume is still mounted on the node, with the start time of this state. */
  readonly waiting: ReadonlyMap<string, number>;
  /**
   * The time at which the first waiting attachment will be detached by force. `lookAgainAt` is undefined if an event
   * comes first.
   */
  readonly lookAgainAt: number | undefined;
  readonly create: readonly Wanted[];
  /** Volumes that pods of this node need and that are attached to another node. */
  readonly refuse: readonly Wanted[];
}

/** The time in milliseconds for which an unhealthy node keeps a volume that no pod of the node needs. */
const FORCE_DETACH_MS = 6 * 60 * 1000;

/**
 * Returns the time at which a volume is detached by force, although the volume is still mounted:
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

/**
 * Decides which volumes the controller attaches to a node, and which volumes the controller detaches from the node.
 */
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
    // The mounts of a deleted node are unknown, so the volume counts as mounted.
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
