import { expect, test } from 'vitest';
import { fnv128a, orderPorts, orderSlicePorts, orderSubsets } from './order.ts';

const port = (name: string, number: number, protocol = 'TCP', more = {}) => ({ name, port: number, protocol, ...more });

// The expected values were computed in Go with `hash/fnv` and k8s.io/utils/dump.
test.each([
  [
    '(v1.EndpointPort){Name:(string)a Port:(int32)80 Protocol:(v1.Protocol)TCP AppProtocol:(*string)<nil>}',
    '93f7910f45d8a99109c5b3f74144e582',
  ],
  ['', '6c62272e07bb014262b821756295c58d'],
])('the hash of %j equals the hash of Go', (dumped, hash) => {
  expect(fnv128a(dumped)).toBe(hash);
});

test('ports of endpoints are ordered by the hash of their fields', () => {
  const ports = [
    port('a', 80),
    port('b', 81),
    { port: 53, protocol: 'UDP' },
    port('http', 8080, 'TCP', { appProtocol: 'h2c' }),
    port('c', 1, 'SCTP'),
    port('metrics', 9090),
  ];
  expect(orderPorts(ports).map((one) => one.name)).toEqual([undefined, 'b', 'a', 'metrics', 'c', 'http']);
  expect(orderPorts([...ports].reverse())).toEqual(orderPorts(ports));
});

test('ports of slices are ordered by another hash, because their fields may be absent', () => {
  const ports = [port('a', 80), port('b', 81)];
  expect(orderSlicePorts(ports).map(({ name }) => name)).toEqual(['b', 'a']);
  expect(orderSlicePorts([...ports].reverse())).toEqual(orderSlicePorts(ports));
});

test('subsets are ordered by the hash of their addresses and ports', () => {
  const full = {
    addresses: [
      {
        ip: '10.1.0.1',
        hostname: 'h',
        nodeName: 'n1',
        targetRef: { kind: 'Pod', namespace: 'x', name: 'p', uid: 'u' },
      },
    ],
    notReadyAddresses: [{ ip: '10.1.0.2' }],
    ports: [port('a', 80)],
  };
  const bare = { addresses: [{ ip: '10.1.0.1' }] };
  expect(orderSubsets([full, bare])).toEqual([bare, full]);
  expect(orderSubsets([bare, full])).toEqual([bare, full]);
});
