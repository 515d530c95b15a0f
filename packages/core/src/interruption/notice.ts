import { Annotations, formatTime, parseTime } from '@mcm/api';
import type { InterruptionKind, InterruptionNotice } from '../driver/contract/driver.ts';

type ReplacingKind = Extract<InterruptionKind, 'Terminate' | 'Maintenance' | 'Ended'>;

/** An interruption as it is recorded on a Machine. */
export interface Interruption {
  readonly kind: ReplacingKind;
  readonly id: string;
  readonly noticedAt: Date;
  readonly deadline: Date;
  readonly detail: string;
}

const REPLACING: ReadonlySet<string> = new Set<ReplacingKind>(['Terminate', 'Maintenance', 'Ended']);
const ONLY_REPORTED: ReadonlySet<string> = new Set<InterruptionKind>(['Freeze', 'Rebalance']);

/**
 * After a notice without a deadline, mcm assumes that the VM ends after this time. The value is the shortest time of
 * all clouds.
 */
const SHORTEST_NOTICE_MS = 30_000;

/** A forged notice must not fill the Machine object, so mcm limits the length of the cloud's text. */
const LONGEST_TEXT = 200;

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

export const printInterruption = ({ kind, id, noticedAt, deadline, detail }: Interruption): string =>
  JSON.stringify({ kind, id, noticedAt: formatTime(noticedAt), deadline: formatTime(deadline), detail });

/** Returns the recorded interruption of a machine, or undefined if the annotation is absent or invalid. */
export function interruptionOf(object: Annotated | undefined): Interruption | undefined {
  const text = object?.metadata.annotations?.[Annotations.Interruption];
  return text === undefined ? undefined : interruptionIn(fieldsOf(text));
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, LONGEST_TEXT) : '');
const timeOf = (value: unknown): Date | undefined => (typeof value === 'string' ? parseTime(value) : undefined);

const isReplacing = (kind: string): kind is ReplacingKind => REPLACING.has(kind);

/** Returns undefined for an invalid notice, or if mcm does not replace the machine after this kind of notice. */
export function interruptionIn(
  fields: {
    readonly [K in keyof InterruptionNotice]?: unknown;
  },
): Interruption | undefined {
  const kind = textOf(fields.kind);
  const noticedAt = timeOf(fields.noticedAt);
  const deadline = fields.deadline === undefined ? defaultDeadline(noticedAt) : timeOf(fields.deadline);
  const id = textOf(fields.id);
  if (!isReplacing(kind) || !noticedAt || !deadline || id === '') return undefined;
  return { kind, id, noticedAt, deadline, detail: textOf(fields.detail) };
}

const defaultDeadline = (noticedAt: Date | undefined): Date | undefined =>
  noticedAt && new Date(noticedAt.getTime() + SHORTEST_NOTICE_MS);

export const isOnlyReported = ({ kind }: InterruptionNotice): boolean => ONLY_REPORTED.has(kind);

/** Returns the interruption as one sentence for events. */
export const sentenceOf = ({ kind, deadline, detail }: Interruption): string =>
  kind === 'Ended'
    ? `The VM ended: ${detail}. mcm deletes the machine, and the MachineSet creates another machine`
    : `The cloud ${kind === 'Terminate' ? 'ends' : 'disturbs'} the VM at ${formatTime(deadline)}: ${detail}. mcm drains and replaces the machine before the deadline`;
