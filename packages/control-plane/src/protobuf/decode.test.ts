import { describe, expect, it } from 'vitest';
import { StatusError } from '../apimachinery/objects/status.ts';
import { decodeProtobuf } from './decode.ts';

const bytes = (...parts: (number | string | Uint8Array | readonly number[])[]): Uint8Array =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === 'number' ? [part] : typeof part === 'string' ? [...Buffer.from(part)] : [...part],
    ),
  );

function varint(value: bigint): number[] {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return out;
}

const field = (number: number, value: string | Uint8Array): Uint8Array => {
  const body = bytes(value);
  return bytes(varint(BigInt((number << 3) | 2)), varint(BigInt(body.length)), body);
};
const int = (number: number, value: number | bigint): Uint8Array =>
  bytes(varint(BigInt(number << 3)), varint(BigInt(value)));
const message = (...fields: Uint8Array[]): Uint8Array => bytes(...fields);

const body = (apiVersion: string, kind: string, raw: Uint8Array): Uint8Array =>
  bytes('k8s\0', field(1, message(field(1, apiVersion), field(2, kind))), field(2, raw));
const decode = (data: Uint8Array): unknown => decodeProtobuf(data, () => undefined);
const refusal = (data: Uint8Array): StatusError['status'] => {
  try {
    decode(data);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('nothing was refused');
};

/** The clients of Go send all scalar metadata fields, even empty ones. */
const meta = (name: string, ...more: Uint8Array[]): Uint8Array =>
  field(
    1,
    message(
      field(1, name),
      field(2, ''),
      field(3, 'ns'),
      field(4, ''),
      field(5, ''),
      field(6, ''),
      int(7, 0),
      field(8, ''),
      ...more,
    ),
  );

describe('decodeProtobuf', () => {
  it('the decoder reads maps, bytes and metadata, and drops empty metadata', () => {
    const labels = field(11, message(field(1, 'l'), field(2, '1')));
    const data = [field(2, message(field(1, 'a'), field(2, '1'))), field(2, message(field(1, 'b')))];
    expect(
      decode(
        body('v1', 'ConfigMap', message(meta('x', labels), ...data, field(3, message(field(1, 'c'), field(2, 'hi'))))),
      ),
    ).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace: 'ns', labels: { l: '1' } },
      data: { a: '1', b: '' },
      binaryData: { c: 'aGk=' },
    });
  });

  it('the decoder reads nested lists, quantities, int-or-string and inlined structures', () => {
    const quantity = field(1, message(field(1, 'cpu'), field(2, field(1, '100m'))));
    const port = field(6, message(field(1, 'http'), int(3, 8080)));
    const handler = field(1, field(2, message(field(1, '/z'), field(2, message(int(1, 1), field(3, 'http'))))));
    const probe = field(10, message(handler, int(3, 5)));
    const container = field(2, message(field(1, 'c'), field(2, 'image'), port, field(8, quantity), probe));
    const volume = field(1, message(field(1, 'v'), field(2, field(2, ''))));
    const spec = field(2, message(volume, container, int(4, 30)));
    expect(decode(body('v1', 'Pod', message(meta('p'), spec)))).toMatchObject({
      spec: {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          {
            name: 'c',
            image: 'image',
            ports: [{ name: 'http', containerPort: 8080 }],
            resources: { limits: { cpu: '100m' } },
            livenessProbe: { httpGet: { path: '/z', port: 'http' }, timeoutSeconds: 5 },
          },
        ],
        terminationGracePeriodSeconds: 30,
      },
    });
  });

  it('the decoder reads times, negative numbers and plain ints of int-or-string', () => {
    const spec = message(field(1, message(int(1, 0), int(2, 25))));
    const status = message(int(1, -1n));
    const created = field(1, message(field(1, 'x'), field(8, message(int(1, 1_700_000_000), int(2, 0)))));
    expect(
      decode(body('policy/v1', 'PodDisruptionBudget', message(created, field(2, spec), field(3, status)))),
    ).toMatchObject({
      metadata: { creationTimestamp: '2023-11-14T22:13:20Z' },
      spec: { minAvailable: 25 },
      status: { observedGeneration: -1 },
    });
  });

  it('writes six digits of a MicroTime, and ignores the nanoseconds of a Time', () => {
    const times = message(field(3, message(int(1, 1_700_000_000), int(2, 0))), field(4, message(int(2, 1_234_567))));
    const created = field(1, message(field(8, message(int(1, 1_700_000_000), int(2, 999_000_000)))));
    expect(decode(body('coordination.k8s.io/v1', 'Lease', message(created, field(2, times))))).toMatchObject({
      metadata: { creationTimestamp: '2023-11-14T22:13:20Z' },
      spec: { acquireTime: '2023-11-14T22:13:20.000000Z', renewTime: '1970-01-01T00:00:00.001234Z' },
    });
  });

  it('the decoder skips unknown fields', () => {
    expect(decode(body('v1', 'ConfigMap', message(meta('x'), field(99, 'new'), int(98, 1))))).toMatchObject({
      metadata: { name: 'x' },
    });
  });

  it('the decoder keeps map keys with the names of prototypes as data', () => {
    const decoded = decode(body('v1', 'ConfigMap', field(2, message(field(1, '__proto__'), field(2, 'x'))))) as {
      data: object;
    };
    expect(Object.keys(decoded.data)).toEqual(['__proto__']);
  });

  it.each([
    ['no magic', bytes('{"a":1}'), /prefix/],
    ['a cut message', body('v1', 'ConfigMap', field(1, 'abc')).subarray(0, -2), /unexpected EOF/],
    ['a field number of zero', body('v1', 'ConfigMap', bytes(0x02, 0x00)), /illegal tag/],
    ['a group', body('v1', 'ConfigMap', bytes(0x0b)), /illegal wireType 3/],
    ['an endless number', body('v1', 'ConfigMap', bytes(Array.from({ length: 12 }, () => 0xff))), /integer overflow/],
    [
      'a kind without field numbers',
      body('g.example/v1', 'Thing', bytes()),
      /no kind "Thing" is registered for version "g.example\/v1"/,
    ],
  ])('refuses %s', (_, data, expected) => {
    expect(refusal(data)).toMatchObject({ code: 400, reason: 'BadRequest', message: expect.stringMatching(expected) });
  });
});
