import { describe, expect, test } from 'vitest';
import { decodeKubelet, overlayKubelet, serialiseKubelet } from './configuration.ts';

const written = (base: object, user: object = {}) =>
  serialiseKubelet(overlayKubelet(decodeKubelet(base), decodeKubelet(user)));

describe('a KubeletConfiguration is written as Go writes it', () => {
  test('entries of lists are written with all fields that Go always writes', () => {
    const config = {
      reservedMemory: [{ limits: { memory: '0.5', 'hugepages-1Gi': 1000 } }, { numaNode: 1 }],
      shutdownGracePeriodByPodPriority: [{ priority: 100 }],
      registerWithTaints: [{ key: 'a', value: '', timeAdded: null, unknown: 1 }],
      logging: { vmodule: [{ filePattern: 'x' }] },
    };
    expect(written(config)).toMatchObject({
      reservedMemory: [
        { numaNode: 0, limits: { memory: '500m', 'hugepages-1Gi': '1k' } },
        { numaNode: 1, limits: null },
      ],
      shutdownGracePeriodByPodPriority: [{ priority: 100, shutdownGracePeriodSeconds: 0 }],
      registerWithTaints: [{ key: 'a', effect: '' }],
      logging: { verbosity: 0, flushFrequency: 0, vmodule: [{ filePattern: 'x', verbosity: 0 }] },
    });
  });

  test('logging options have a buffer size; the value of a user overrides it, which the original loses', () => {
    const base = { logging: { options: { json: { infoBufferSize: '1Gi', splitStream: false } } } };
    expect(written(base).logging).toMatchObject({
      options: { json: { infoBufferSize: '1Gi' }, text: { infoBufferSize: '0' } },
    });
    const user = { logging: { options: { json: { infoBufferSize: 5, splitStream: true } } } };
    expect(written(base, user).logging).toMatchObject({
      options: { json: { infoBufferSize: '5', splitStream: true } },
    });
  });

  test('an optional object is merged field by field, and absent fields keep their value', () => {
    const base = { tracing: { endpoint: 'a', samplingRatePerMillion: 100 } };
    expect(written(base, { tracing: { endpoint: 'b' } }).tracing).toEqual({
      endpoint: 'b',
      samplingRatePerMillion: 100,
    });
    expect(written({ userNamespaces: {} }).userNamespaces).toEqual({});
    expect(written({}).userNamespaces).toBeUndefined();
  });

  test.each([
    [{ reservedMemory: [7] }, 'kubeletConfig.reservedMemory[0] must be an object'],
    [{ reservedMemory: [{ limits: { memory: 'x' } }] }, 'reservedMemory[0].limits.memory must be a quantity'],
    [{ registerWithTaints: {} }, 'kubeletConfig.registerWithTaints must be a list'],
    [{ tracing: [] }, 'kubeletConfig.tracing must be an object'],
  ])('%j is refused by path', (config, message) => {
    expect(() => decodeKubelet(config)).toThrow(message);
  });
});
