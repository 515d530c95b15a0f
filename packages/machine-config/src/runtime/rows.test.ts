import { expect, test } from 'vitest';
import { KubeletConditions } from '../constants/conditions.ts';
import { decodeContents, type IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig, ContainerRuntimeConfiguration } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { withRuntimeVerdict } from './conditions.ts';
import { runtimeFiles } from './files.ts';
import { setTomlKey } from './toml.ts';
import { validateRuntimeConfig } from './validate.ts';

const configOf = (wanted: ContainerRuntimeConfiguration): ContainerRuntimeConfig =>
  ({ metadata: { name: 'c' }, spec: { containerRuntimeConfig: wanted } }) as ContainerRuntimeConfig;
const verdict = (wanted: ContainerRuntimeConfiguration): string => {
  try {
    validateRuntimeConfig(configOf(wanted));
    return 'valid';
  } catch (error) {
    return (error as Error).message;
  }
};

test('pidsLimit must be 0 or at least 20', () => {
  for (const pidsLimit of [0, 20, 4096]) expect(verdict({ pidsLimit })).toBe('valid');
  for (const pidsLimit of [1, 19, -1]) {
    expect(verdict({ pidsLimit })).toBe(
      `spec.containerRuntimeConfig.pidsLimit is ${pidsLimit}: must be 0 or at least 20`,
    );
  }
});

test('a positive logSizeMax must be more than 8192', () => {
  for (const logSizeMax of [8193, '10Mi', 0, -1, '8.2k']) expect(verdict({ logSizeMax })).toBe('valid');
  for (const logSizeMax of [8192, '8Ki', '8.1k', 1, 'much']) expect(verdict({ logSizeMax })).toContain('logSizeMax');
});

test('overlaySize must not be negative', () => {
  for (const overlaySize of ['8G', 0, '1']) expect(verdict({ overlaySize })).toBe('valid');
  for (const overlaySize of ['-8G', '8 G']) expect(verdict({ overlaySize })).toContain('overlaySize');
});

test('logLevel must be one of seven values in lower case', () => {
  for (const logLevel of ['error', 'fatal', 'panic', 'warn', 'info', 'debug', 'trace', '']) {
    expect(verdict({ logLevel })).toBe('valid');
  }
  for (const logLevel of ['Info', 'warning', 'x']) expect(verdict({ logLevel })).toContain('must be one of error');
  expect(verdict({ defaultRuntime: 'kata' })).toContain('must be one of crun, runc');
});

test('the path of a store must be absolute, with plain characters and single slashes, and all stores need a feature gate', () => {
  for (const path of ['/var/lib/stores', '/a.b_c-d/1']) {
    expect(verdict({ additionalImageStores: [{ path }] })).toContain('feature gate');
  }
  for (const path of ['var', '/', '/a//b', '/a b', '/a:b']) {
    expect(verdict({ additionalLayerStores: [{ path }] })).toContain('additionalLayerStores[0].path');
  }
});

const POOL = { metadata: { name: 'worker' } } as MachineConfigPool;
const textOf = ({ contents }: IgnitionFile) => decodeContents(contents?.source, contents?.compression).toString('utf8');
const filesFrom = (templates: Record<string, string>, wanted: ContainerRuntimeConfiguration) => {
  const tree = new Map(
    Object.entries(templates).map(([path, text]) => [`worker/01-worker-container-runtime/_base/files/${path}`, text]),
  );
  const controllerConfig = { metadata: { name: 'x' }, spec: { platform: 'none' } } as ControllerConfig;
  const files = runtimeFiles(configOf(wanted), POOL, { tree, controllerConfig, cluster: { featureGates: {} } });
  return Object.fromEntries(files.map((file) => [file.path, textOf(file)]));
};

const CRIO = {
  'storage.yaml':
    'path: /etc/containers/storage.conf\nmode: 0644\ncontents:\n  inline: |\n    [storage]\n    driver = "overlay"\n    [storage.options]\n    # size\n    size = ""\n    [storage.options.pull]\n    size = 1\n',
};

test('nodes with CRI-O get the files of the original, one for each setting', () => {
  const wanted = { logLevel: 'debug', pidsLimit: 2048, logSizeMax: '10Mi', overlaySize: '8G', defaultRuntime: 'runc' };
  const files = filesFrom(CRIO, wanted);
  expect(Object.keys(files)).toEqual([
    '/etc/containers/storage.conf',
    ...['logLevel', 'pidsLimit', 'logSizeMax', 'defaultRuntime'].map(
      (name) => `/etc/crio/crio.conf.d/01-ctrcfg-${name}`,
    ),
  ]);
  expect(files['/etc/containers/storage.conf']).toBe(
    '[storage]\ndriver = "overlay"\n[storage.options]\n# size\nsize = "8G"\n[storage.options.pull]\nsize = 1\n',
  );
  expect(files['/etc/crio/crio.conf.d/01-ctrcfg-logSizeMax']).toContain('log_size_max = 10485760');
  expect(files['/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit']).toContain('pids_limit = 2048');
  expect(Object.keys(filesFrom(CRIO, { pidsLimit: 0, logLevel: '' }))).toEqual([]);
});

test('a key of TOML is set in its own table, which is created if it does not exist', () => {
  expect(setTomlKey('[a]\nsize = 1', 'b', 'size', '2')).toBe('[a]\nsize = 1\n[b]\nsize = 2\n');
  expect(setTomlKey('[a]\n[b]\nsize = 1', 'a', 'size', '2')).toBe('[a]\nsize = 2\n[b]\nsize = 1');
});

const CONTAINERD = {
  'config.yaml':
    'path: /etc/containerd/config.toml\ncontents:\n  inline: "{{ containerRuntime.logLevel }} {% if containerRuntime.defaultRuntime == "crun" %}crun{% else %}runc{% endif %}"\n',
  'other.yaml': 'path: /etc/other\ncontents:\n  inline: other\n',
};

test('on other nodes the templates with a setting are rendered with it, and only changed files are written', () => {
  const templates = { ...CONTAINERD, 'config.yaml': CONTAINERD['config.yaml'].replaceAll('"crun"', "'crun'") };
  expect(filesFrom(templates, { logLevel: 'debug', defaultRuntime: 'crun' })).toEqual({
    '/etc/containerd/config.toml': 'debug crun',
  });
  expect(filesFrom(templates, { defaultRuntime: 'runc' })).toEqual({});
  expect(() => filesFrom(templates, { pidsLimit: 100 })).toThrow(
    'spec.containerRuntimeConfig.pidsLimit is 100: the templates of pool worker do not use the field; set podPidsLimit in a KubeletConfig',
  );
});

test('three results are stored, the newest last; the same one again only updates its time', () => {
  let conditions = withRuntimeVerdict([], 'a', '1');
  for (const problem of ['b', 'c', undefined]) conditions = withRuntimeVerdict(conditions, problem, '2');
  expect(conditions.map(({ type, message }) => [type, message])).toEqual([
    [KubeletConditions.Failure, 'b'],
    [KubeletConditions.Failure, 'c'],
    [KubeletConditions.Success, 'Success'],
  ]);
  const again = withRuntimeVerdict(conditions, undefined, '3');
  expect([again.length, again.at(-1)?.lastTransitionTime]).toEqual([3, '3']);
});
