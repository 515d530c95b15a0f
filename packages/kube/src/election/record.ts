import type { Lease } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';

export interface ElectionRecord {
  /** The identity of the holder, or an empty text after the release of the Lease. */
  readonly holder: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly transitions: number;
}

/** Formats a time like metav1.MicroTime. */
export const microTime = (date: Date): string => date.toISOString().replace('Z', '000Z');

/** Reads the election record from a Lease. */
export const readRecord = ({ spec }: Lease): ElectionRecord => ({
  holder: spec?.holderIdentity ?? '',
  leaseDurationSeconds: spec?.leaseDurationSeconds ?? 0,
  acquireTime: spec?.acquireTime ?? '',
  renewTime: spec?.renewTime ?? '',
  transitions: spec?.leaseTransitions ?? 0,
});

export const toSpec = (record: ElectionRecord): NonNullable<Lease['spec']> => ({
  holderIdentity: record.holder,
  leaseDurationSeconds: record.leaseDurationSeconds,
  acquireTime: record.acquireTime,
  renewTime: record.renewTime,
  leaseTransitions: record.transitions,
});

export function claim(old: ElectionRecord | undefined, identity: string, leaseMs: number, now: Date): ElectionRecord {
  const isMine = old?.holder === identity;
  return {
    holder: identity,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: isMine && old.acquireTime !== '' ? old.acquireTime : microTime(now),
    renewTime: microTime(now),
    transitions: old === undefined ? 0 : isMine ? old.transitions : old.transitions + 1,
  };
}

/** Returns the record of a released Lease. The lease duration is 1 s, as in client-go. */
export const released = (old: ElectionRecord, now: Date): ElectionRecord => ({
  holder: '',
  leaseDurationSeconds: 1,
  acquireTime: microTime(now),
  renewTime: microTime(now),
  transitions: old.transitions,
});

export function holderVersion(lease: Lease | undefined, holder: string): string | undefined {
  const [version, identity] = (lease?.metadata.annotations?.[LeaseAnnotations.HolderVersion] ?? '').split(' ');
  return identity === holder ? version : undefined;
}

/** Returns the flags of the holder, or undefined if the annotation is absent or invalid. */
export function holderSettings({ metadata, spec }: Lease): Readonly<Record<string, unknown>> | undefined {
  const text = metadata.annotations?.[LeaseAnnotations.HolderSettings] ?? '';
  const gap = text.indexOf(' ');
  if (gap < 1 || text.slice(0, gap) !== spec?.holderIdentity) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(gap));
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined; // Other clients may write the annotation, so the function ignores invalid values.
  }
}
