import type { Check } from './baseline.ts';
import * as baseline from './baseline.ts';
import type { Standard } from './level.ts';
import * as restricted from './restricted.ts';
import type { PodLike, Violation } from './words.ts';

const NEWEST = 35;
const ALWAYS = Number.POSITIVE_INFINITY;

/**
 * The checks of the level baseline. From the minor version `replacedSince` on, the level restricted uses a stricter
 * check instead.
 */
const BASELINE: readonly (readonly [check: Check, replacedSince: number])[] = [
  [baseline.appArmorProfile, ALWAYS],
  [baseline.capabilitiesBaseline, 22],
  [baseline.hostNamespaces, ALWAYS],
  [baseline.hostPathVolumes, 0],
  [baseline.hostPorts, ALWAYS],
  [baseline.hostProbes, ALWAYS],
  [baseline.privileged, ALWAYS],
  [baseline.procMount, 35],
  [baseline.seLinuxOptions, ALWAYS],
  [baseline.seccompBaseline, 19],
  [baseline.sysctls, ALWAYS],
  [baseline.windowsHostProcess, ALWAYS],
];

/** The checks of the level restricted. Each check applies from the minor version `since` on. */
const RESTRICTED: readonly (readonly [check: Check, since: number])[] = [
  [restricted.allowPrivilegeEscalation, 8],
  [restricted.capabilitiesRestricted, 22],
  [baseline.procMountRestricted, 35],
  [restricted.restrictedVolumes, 0],
  [restricted.runAsNonRoot, 0],
  [restricted.runAsUser, 23],
  [restricted.seccompRestricted, 19],
];

/** @see kubernetes.io Pod Security Standards */
export function violations(pod: PodLike, { level, minor: asked }: Standard): Violation[] {
  if (level === 'privileged') return [];
  const minor = asked === 'latest' ? NEWEST : Math.min(asked, NEWEST);
  const isRestricted = level === 'restricted';
  const checks = [
    ...BASELINE.filter(([, replacedSince]) => !(isRestricted && minor >= replacedSince)),
    ...(isRestricted ? RESTRICTED.filter(([, since]) => minor >= since) : []),
  ];
  return checks.flatMap(([check]) => check(pod, minor) ?? []);
}

export const inDetail = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');

export const inShort = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(', ');
