import type { Pod } from '@mcm/kube';

/** The maximum length of a message. Longer messages of schedulers and registries only repeat themselves. */
const LONGEST = 300;

/** Returns the reason why a Pod does not run. */
export function whyNotRunning({ metadata, status }: Pod): string {
  const phase = status?.phase ?? 'Pending';
  if (metadata.deletionTimestamp) return `${phase} (being deleted)`;
  const unscheduled = status?.conditions?.find((each) => each.type === 'PodScheduled' && each.status === 'False');
  const { reason, message } = unscheduled ?? waitingOf(status?.containerStatuses) ?? {};
  const words = [phase, reason, message].filter((each) => typeof each === 'string' && each !== '').join(': ');
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}

interface Waiting {
  readonly reason?: unknown;
  readonly message?: unknown;
}

/** Returns the waiting state of the first container that is not running. */
const waitingOf = (containers: unknown): Waiting | undefined =>
  Array.isArray(containers)
    ? containers
        .map((each: { readonly state?: { readonly waiting?: Waiting } }) => each.state?.waiting)
        .find((each) => each !== undefined)
    : undefined;
