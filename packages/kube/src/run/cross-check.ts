import type { CommonFlags } from '../flags/common-flags.ts';
import type { FlagValues } from '../flags/flag.ts';

/** Returns errors in combinations of flags, one sentence each with the names of the flags. */
export function crossCheck(flags: FlagValues<CommonFlags>): string[] {
  const lease = flags['leader-elect-lease-duration'];
  const deadline = flags['leader-elect-renew-deadline'];
  const retry = flags['leader-elect-retry-period'];
  return [
    ...(lease > deadline ? [] : ['--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline']),
    ...(deadline > 1.2 * retry
      ? []
      : ['--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period']),
    ...(flags['kube-api-qps'] > 0 && flags['kube-api-burst'] < 1
      ? ['--kube-api-burst must be at least 1 when --kube-api-qps is set']
      : []),
    ...portsTaken(flags),
    ...(flags.namespace === '' ? ['--namespace must not be empty'] : []),
  ];
}

/** Returns the ports that more than one flag uses. */
function portsTaken(flags: Readonly<Record<string, unknown>>): string[] {
  const ports = Object.entries(flags).filter(
    ([name, value]) => (name === 'port' || name.endsWith('-port')) && typeof value === 'number' && value > 0,
  );
  return [...Map.groupBy(ports, ([, port]) => port)]
    .filter(([, same]) => same.length > 1)
    .map(([port, same]) => `${same.map(([name]) => `--${name}`).join(' and ')} must not both be ${port}`);
}

/** Returns one warning for each combination of flags that is valid but probably wrong. */
export function doubtsAbout(flags: FlagValues<CommonFlags>): string[] {
  const quiet = ['warn', 'error', 'silent'].includes(flags['log-level']);
  return [
    ...(flags['tls-cert-dir'] !== '' && flags['secure-port'] === 0
      ? ['--tls-cert-dir has no effect without --secure-port']
      : []),
    ...(flags.v >= 4 && quiet
      ? [`--v=${flags.v} overrides --log-level=${flags['log-level']}: lines of level debug and above are written`]
      : []),
  ];
}
