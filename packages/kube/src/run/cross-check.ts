import type { CommonFlags } from '../flags/common-flags.ts';
import type { FlagValues } from '../flags/flag.ts';

/** What no single one of the common flags can know is wrong; one sentence each, that names the flags. */
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
    ...(flags.namespace === '' ? ['--namespace must not be empty'] : []),
  ];
}
