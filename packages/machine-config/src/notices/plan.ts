import { Annotations } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { NodeNotice } from './sources.ts';

/** The start of the IDs of notices that the daemon writes and removes. Other agents use other IDs. */
const OURS = /^(azure|gce)-/;

/**
 * The value of the Node's annotation: a text to write, null to remove it, or undefined for no change. The notice with the earliest
 * deadline counts. A notice keeps its times as long as the metadata service reports it.
 */
export function planNotice(node: Node, notices: readonly NodeNotice[], now: Date): string | null | undefined {
  const stored = node.metadata.annotations?.[Annotations.Interruption];
  const known = fieldsOf(stored);
  const wanted = notices
    .map((notice) =>
      notice.id === known.id ? { ...notice, noticedAt: known.noticedAt, deadline: known.deadline } : begun(notice, now),
    )
    .toSorted((a, b) => Date.parse(a.deadline) - Date.parse(b.deadline))[0];
  if (wanted === undefined) return stored !== undefined && OURS.test(known.id) ? null : undefined;
  if (wanted.id === known.id) return undefined;
  const { kind, id, noticedAt, deadline, detail } = wanted;
  return JSON.stringify({ kind, id, noticedAt, deadline, detail });
}

function begun(notice: NodeNotice, now: Date) {
  const deadline = notice.deadline ?? new Date(now.getTime() + notice.withinMs).toISOString();
  return { ...notice, noticedAt: now.toISOString(), deadline };
}

function fieldsOf(text: string | undefined): {
  readonly id: string;
  readonly noticedAt: string;
  readonly deadline: string;
} {
  const none = { id: '', noticedAt: '', deadline: '' };
  try {
    const { id = '', noticedAt = '', deadline = '' }: Record<string, unknown> = JSON.parse(text ?? '{}') ?? {};
    return { id: String(id), noticedAt: String(noticedAt), deadline: String(deadline) };
  } catch {
    return none; // another program has written it
  }
}
