import { type Expected, failsWith, type Rule, type Situation, succeeds } from '../expected.ts';
import { instanceOf, type RecordedInterface, request, specOf } from './situation.ts';

/**
 * This file computes which IPv6 prefixes an interface lacks. In the original, the device index of an interface is its
 * position in the provider spec.
 */

interface Gap {
  readonly id: string;
  readonly index: number;
  readonly wanted: number;
  readonly missing: number;
}

/** How a driver computes the missing prefixes from the provider spec and the VM. */
interface Reading {
  readonly ownEntry: boolean;
  readonly moreIsFine: boolean;
}

const ORIGINAL: Reading = { ownEntry: false, moreIsFine: false };
const OWN_ENTRY: Reading = { ownEntry: true, moreIsFine: false };
const OURS: Reading = { ownEntry: true, moreIsFine: true };

function positionOf(situation: Situation, nic: RecordedInterface, { ownEntry }: Reading): number {
  const { deviceIndex, networkCardIndex } = nic;
  if (nic.noAttachment || typeof deviceIndex !== 'number') return -1;
  if (!ownEntry) return deviceIndex;
  return (specOf(situation.recorded).networkInterfaces ?? []).findIndex(
    (entry, i) => (entry.deviceIndex ?? i) === deviceIndex && (entry.networkCardIndex ?? 0) === (networkCardIndex ?? 0),
  );
}

function gapsOf(situation: Situation, reading: Reading): readonly Gap[] {
  const { networkInterfaces: entries = [] } = specOf(situation.recorded);
  return (instanceOf(situation)?.networkInterfaces ?? []).flatMap((nic) => {
    const index = positionOf(situation, nic, reading);
    const wanted = entries[index]?.ipv6PrefixCount;
    const missing = (wanted ?? 0) - (nic.ipv6Prefixes?.length ?? 0);
    if (wanted === undefined || missing === 0 || (missing < 0 && reading.moreIsFine)) return [];
    return [{ id: nic.networkInterfaceId ?? '', index, wanted, missing }];
  });
}

/** Returns a rule that replaces the expected requests for prefixes. */
function reread(row: string, from: Reading, to: Reading): Rule {
  return {
    row,
    expect: (expected, situation) => {
      const [before, after] = [gapsOf(situation, from), gapsOf(situation, to)];
      if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
      if (situation.step.method === 'InitializeMachine') return assigned(expected, situation, before, after);
      return situation.step.method === 'GetMachineStatus' ? found(expected, situation, before, after) : undefined;
    },
  };
}

const ASSIGN = 'AssignIpv6Addresses';

const NO_ID = 'missing required field, AssignIpv6AddressesInput.NetworkInterfaceId';
const lacksId = ({ id }: Gap): boolean => id === '';

function assigned(
  expected: Expected,
  situation: Situation,
  before: readonly Gap[],
  after: readonly Gap[],
): Expected | undefined {
  const made = expected.requests.filter(({ action }) => action === ASSIGN);
  const isEnded = before.some(lacksId) && expected.result.errorText?.includes(NO_ID) === true;
  if (made.length !== (isEnded ? before.findIndex(lacksId) : before.length)) return undefined;
  const others = expected.requests.filter(({ action }) => action !== ASSIGN);
  const wanted = after.map(({ id, missing }) =>
    request(ASSIGN, { Ipv6PrefixCount: String(missing), NetworkInterfaceId: id }),
  );
  const changed = { ...expected, requests: [...others, ...wanted] };
  return isEnded && !after.some(lacksId) ? succeeds(changed, situation) : changed;
}

function found(
  expected: Expected,
  situation: Situation,
  before: readonly Gap[],
  after: readonly Gap[],
): Expected | undefined {
  const { errorCode, errorText } = expected.result;
  const isOfPrefixes = errorText?.includes('ipv6 prefixes') === true;
  if ((errorCode !== null && !isOfPrefixes) || isOfPrefixes !== before.length > 0) return undefined;
  const [gap] = after;
  if (!gap) return succeeds(expected, situation, situation.step.result.response);
  const vm = `VM "${instanceOf(situation)?.instanceId ?? ''}" associated with machine "${situation.recorded.machine?.name ?? ''}"`;
  return failsWith(expected, situation, 'Uninitialized', {
    textIs: 'driver',
    errorText: `${vm} has no ipv6 prefixes assigned on network interface "${gap.id}" despite providerSpec.NetworkInterfaces[${gap.index}].Ipv6PrefixCount=${gap.wanted}`,
  });
}

export const ownEntry = reread(
  'the driver reads the IPv6 prefixes of an interface from its own entry',
  ORIGINAL,
  OWN_ENTRY,
);
export const moreIsFine = reread('the driver accepts more IPv6 prefixes than requested', OWN_ENTRY, OURS);
