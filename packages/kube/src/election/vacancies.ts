import type { LeaseVacancy } from '../contract/server-history.ts';
import type { Lease } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';

/** The minimum duration of a recorded period. A shorter period without a holder is an ordinary change of the leader. */
const SHORTEST_MS = 120_000;
/** The annotation keeps a period without a holder for this time. */
const KEPT_MS = 24 * 3_600_000;
const MOST = 8;

const text = ({ from, to }: LeaseVacancy): string => `${from.toISOString()}/${to.toISOString()}`;

function parsed(entry: string): readonly LeaseVacancy[] {
  const [from = Number.NaN, to = Number.NaN] = entry.split('/').map((time) => Date.parse(time));
  return from < to ? [{ from: new Date(from), to: new Date(to) }] : [];
}

/** Any client may write annotations, so the function ignores invalid entries. */
export const leaseVacancies = (lease: Lease | undefined): readonly LeaseVacancy[] =>
  (lease?.metadata.annotations?.[LeaseAnnotations.Vacancies] ?? '').split(',').flatMap(parsed);

/**
 * Adds the current period without a holder to the annotation, and returns the annotation. If a restore of the API
 * server undid renewals of the Lease, the new period starts at the last renewal before the backup.
 */
export function vacancyAnnotation(lease: Lease, now: Date): Readonly<Record<string, string>> {
  const from = new Date(lease.spec?.renewTime ?? Number.NaN);
  const isLong = now.getTime() - from.getTime() >= SHORTEST_MS;
  const known = leaseVacancies(lease).filter(({ to }) => now.getTime() - to.getTime() < KEPT_MS);
  const times = [...known, ...(isLong ? [{ from, to: now }] : [])].slice(-MOST);
  const before = lease.metadata.annotations?.[LeaseAnnotations.Vacancies];
  return times.length === 0 && before === undefined ? {} : { [LeaseAnnotations.Vacancies]: times.map(text).join(',') };
}
