import { Annotations, parseTime } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { NodeNotice } from './sources.ts';

/** The prefixes of notice IDs that the daemon writes and removes. */
const OURS = /^(azure|gce)-/;

/** Returns the annotation of the Node: a text, null for its removal, or undefined for no change. */
export function planNotice(node: Node, notices: readonly NodeNotice[], now: Date): string | null | undefined {
  const stored = node.metadata.annotations?.[Annotations.Interruption];
  const known = fieldsOf(stored);
  const wanted = notices
    .map((notice) => timed(notice, notice.id === known.id ? known : undefined, now))
    .toSorted((a, b) => Date.parse(a.deadline) - Date.parse(b.deadline))[0];
  if (wanted === undefined) return stored !== undefined && OURS.test(known.id) ? null : undefined;
  const { kind, id, noticedAt, deadline, detail } = wanted;
  const value = JSON.stringify({ kind, id, noticedAt, deadline, detail });
  return value === stored ? undefined : value;
}

/** Returns a notice with its deadline. An edited annotation cannot move the deadline to a later time. */
function timed(notice: NodeNotice, known: Known | undefined, now: Date) {
  const latest = new Date(now.getTime() + notice.withinMs).toISOString();
  const before = isTime(known?.deadline) && Date.parse(known.deadline) < Date.parse(latest) ? known.deadline : latest;
  const noticedAt = isTime(known?.noticedAt) ? known.noticedAt : now.toISOString();
  return { ...notice, noticedAt, deadline: notice.deadline ?? before };
}

interface Known {
  readonly id: string;
  readonly noticedAt: string;
  readonly deadline: string;
}

const isTime = (text: string | undefined): text is string => text !== undefined && parseTime(text) !== undefined;

function fieldsOf(text: string | undefined): Known {
  const none = { id: '', noticedAt: '', deadline: '' };
  try {
    const { id = '', noticedAt = '', deadline = '' }: Record<string, unknown> = JSON.parse(text ?? '{}') ?? {};
    return { id: String(id), noticedAt: String(noticedAt), deadline: String(deadline) };
  } catch {
    return none; // Another program has written the annotation, so the daemon does not change it.
  }
}
