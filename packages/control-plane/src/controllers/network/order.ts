import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

const BASIS = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e] as const;
const FACTOR = 0x13b;
const WORD = 2 ** 32;

export function fnv128a(value: string): string {
  let [a, b, c, d]: [number, number, number, number] = [...BASIS];
  for (const byte of new TextEncoder().encode(value)) {
    a = (a ^ byte) >>> 0;
    // Multiplies the hash by the prime. The product is the hash times the factor, plus the hash shifted by 88 bits (two
    // words and 24 bits).
    const low = a * FACTOR;
    const second = b * FACTOR + Math.floor(low / WORD);
    const third = c * FACTOR + Math.floor(second / WORD) + ((a << 24) >>> 0);
    const fourth = d * FACTOR + Math.floor(third / WORD) + (a >>> 8) + ((b << 24) >>> 0);
    [a, b, c, d] = [low >>> 0, second >>> 0, third >>> 0, fourth >>> 0];
  }
  return [d, c, b, a].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Formats a pointer for the hash as k8s.io/utils/dump does. */
const pointer = (value: unknown, type = 'string'): string =>
  `(*${type})${value === undefined || value === null ? '<nil>' : String(value)}`;

const dumpPort = ({ name = '', port, protocol, appProtocol }: Plain): string =>
  `{Name:(string)${name} Port:(int32)${port} Protocol:(v1.Protocol)${protocol} AppProtocol:${pointer(appProtocol)}}`;

const dumpSlicePort = ({ name, port, protocol, appProtocol }: Plain): string => {
  const shown = `Name:${pointer(name)} Protocol:${pointer(protocol, 'v1.Protocol')} Port:${pointer(port, 'int32')}`;
  return `{${shown} AppProtocol:${pointer(appProtocol)}}`;
};

function dumpTarget(target: Plain): string {
  const fields = [
    `Kind:(string)${text(target, 'kind')}`,
    `Namespace:(string)${text(target, 'namespace')}`,
    `Name:(string)${text(target, 'name')}`,
    `UID:(types.UID)${text(target, 'uid')}`,
    `APIVersion:(string)${text(target, 'apiVersion')}`,
    `ResourceVersion:(string)${text(target, 'resourceVersion')}`,
    `FieldPath:(string)${text(target, 'fieldPath')}`,
  ];
  return `{${fields.join(' ')}}`;
}

function dumpAddress(address: Plain): string {
  const target = address.targetRef === undefined ? '<nil>' : dumpTarget(look(address, 'targetRef'));
  const fields = [
    `IP:(string)${text(address, 'ip')}`,
    `Hostname:(string)${text(address, 'hostname')}`,
    `NodeName:${pointer(address.nodeName)}`,
    `TargetRef:(*v1.ObjectReference)${target}`,
  ];
  return `{${fields.join(' ')}}`;
}

const dumpList = (type: string, list: readonly Plain[], dump: (item: Plain) => string): string =>
  `([]v1.${type})${list.length === 0 ? '<nil>' : `[${list.map(dump).join(' ')}]`}`;

function dumpSubset(subset: Plain): string {
  const fields = [
    `Addresses:${dumpList('EndpointAddress', items(subset, 'addresses'), dumpAddress)}`,
    `NotReadyAddresses:${dumpList('EndpointAddress', items(subset, 'notReadyAddresses'), dumpAddress)}`,
    `Ports:${dumpList('EndpointPort', items(subset, 'ports'), dumpPort)}`,
  ];
  return `{${fields.join(' ')}}`;
}

/** Items with equal hashes keep their order. */
function byHash(list: readonly Plain[], type: string, dump: (item: Plain) => string): Plain[] {
  if (list.length < 2) return [...list];
  const hashed = list.map((item) => ({ item, hash: fnv128a(`(v1.${type})${dump(item)}`) }));
  return hashed.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0)).map(({ item }) => item);
}

/** Sorts the ports of Endpoints as Kubernetes does (`portsByHash`). */
export const orderPorts = (ports: readonly Plain[]): Plain[] => byHash(ports, 'EndpointPort', dumpPort);

/** Sorts the ports of an EndpointSlice as Kubernetes does (`portsInOrder`). */
export const orderSlicePorts = (ports: readonly Plain[]): Plain[] => byHash(ports, 'EndpointPort', dumpSlicePort);

/**
 * Sorts the subsets of Endpoints as Kubernetes does (`subsetsByHash`). The addresses and ports of each subset must
 * already be sorted.
 */
export const orderSubsets = (subsets: readonly Plain[]): Plain[] => byHash(subsets, 'EndpointSubset', dumpSubset);
