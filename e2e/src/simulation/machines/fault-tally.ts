import type { HistoryEntry } from '@mcm/conformance/fleet';
import type { OrderedFault } from '@mcm/provider-local';

const failsWith = (rule: OrderedFault, code: string): boolean => rule.error?.code === code;
const boots = ({ operation }: OrderedFault): boolean => operation === 'instances.boot';

const ORDERED: Readonly<Record<string, (rule: OrderedFault) => boolean>> = {
  'the cloud refuses': (rule) => failsWith(rule, 'InternalError') && !rule.effect,
  'the cloud executes a call, but reports an error': (rule) => failsWith(rule, 'InternalError') && rule.effect === true,
  'the cloud throttles': (rule) => failsWith(rule, 'RequestLimitExceeded'),
  'the cloud has no capacity': (rule) => failsWith(rule, 'InsufficientCapacity'),
  'the cloud does not answer': (rule) => rule.timeout !== undefined && !rule.effect,
  'the cloud executes a call, but does not answer': (rule) => rule.timeout !== undefined && rule.effect === true,
  'the cloud is slow': (rule) => rule.latency !== undefined,
  'the cloud returns an outdated instance': (rule) => rule.stale !== undefined && rule.operation === 'instances.get',
  'the cloud returns an outdated list': (rule) => rule.stale !== undefined && rule.operation === 'instances.list',
  'a kubelet never joins': (rule) => boots(rule) && rule.kubelet?.join === 'never',
  'a kubelet joins late': (rule) => boots(rule) && rule.kubelet?.joinDelay !== undefined,
};

const REPORTED: Readonly<Record<string, RegExp>> = {
  'a kubelet stops reporting': /^the kubelet of \S+ stops reporting/,
  'the cloud terminates a VM without a request of mcm': /is terminated outside of mcm$/,
  'a Machine object disappears while its VM runs': /^Machine \S+ is lost$/,
  'the API server answers 409': /^machine-controller: \S+ \/\S+ conflict$/,
  'the API server answers 429': /^machine-controller: \S+ \/\S+ throttled$/,
  'the API server answers 500': /^machine-controller: \S+ \/\S+ internal$/,
  'a response of the API server does not arrive': /^machine-controller: \S+ \/\S+ lost$/,
  'the API server ends watches with status 410': /^machine-controller: the server answers a watch with status 410$/,
  'watches stop delivering': /^watches stop delivering$/,
  'the API server is unreachable': /^the API server is unreachable/,
  'the controller is killed before a write': /^machine-controller: [A-Z]+ \/\S+ killed before$/,
  'the controller is killed after a write': /^machine-controller: [A-Z]+ \/\S+ killed after$/,
  'the controller is killed before a cloud call': /^machine-controller: cloud \S+ \S+ killed before$/,
  'the controller is killed after a cloud call': /^machine-controller: cloud \S+ \S+ killed after$/,
  'the controller is killed at a random moment': /^the machine controller is killed$/,
  'two machine controllers run at the same time': /^for \d+ ms, two machine controllers run$/,
  'the clock jumps forward': /^the clock of the controller jumps forward by \d+ ms$/,
  'the clock jumps back': /^the clock of the controller jumps forward by -\d+ ms$/,
};

export type FaultTally = Readonly<Record<string, number>>;

/** Counts the faults in histories of machines, because each fault must occur. */
export function tallyFaults(history: readonly HistoryEntry[], ordered: readonly OrderedFault[]): FaultTally {
  const acts = history.filter(({ kind }) => kind === 'act').map(({ text }) => text);
  const acted = Object.entries(ORDERED).map(([name, fits]): [string, number] => [
    name,
    ordered.filter(fits).reduce((sum, rule) => sum + rule.acted, 0),
  ]);
  const reported = Object.entries(REPORTED).map(([name, pattern]): [string, number] => [
    name,
    acts.filter((text) => pattern.test(text)).length,
  ]);
  return Object.fromEntries([...acted, ...reported]);
}
