import type { LeaseVacancy } from '../contract/server-history.ts';
import type { Lease } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';

/** The minimum length of a recorded period without a holder. A shorter period is an ordinary change of the leader. */
const SHORTEST_MS = 120_000;
/**
 * The time for which the annotation keeps a period without a holder. Within a day, each process that used the period
 * has stored its decision in another object.
 */
const KEPT_MS = 24 * 3_600_000;
const MOST = 8;

const text = ({ from, to }: LeaseVacancy): string => `${from.toISOString()}/${to.toISOString()}`;

function parsed(entry: string): readonly LeaseVacancy[] {
  const [from = Number.NaN, to = Number.NaN] = entry.split('/').map((time) => Date.parse(time));
  return from < to ? [{ from: new Date(from), to: new Date(to) }] : [];
}

/**
 * The periods without a holder are sorted, oldest first. Invalid entries are ignored, because any client may write
 * annotations.
 */
export const leaseVacancies = (lease: Lease | undefined): readonly LeaseVacancy[] =>
  (lease?.metadata.annotations?.[LeaseAnnotations.Vacancies] ?? '').split(',').flatMap(parsed);

/**
 * The period starts at the `renewTime` of the Lease. In a restored server, the period therefore includes the time for
 * which the server has lost its data.
 */
export function vacancyAnnotation(lease: Lease, now: Date): Readonly<Record<string, string>> {
  const from = new Date(lease.spec?.renewTime ?? Number.NaN);
  const isLong = now.getTime() - from.getTime() >= SHORTEST_MS;
  const known = leaseVacancies(lease).filter(({ to }) => now.getTime() - to.getTime() < KEPT_MS);
  const times = [...known, ...(isLong ? [{ from, to: now }] : [])].slice(-MOST);
  const before = lease.metadata.annotations?.[LeaseAnnotations.Vacancies];
  return times.length === 0 && before === undefined ? {} : { [LeaseAnnotations.Vacancies]: times.map(text).join(',') };
}
