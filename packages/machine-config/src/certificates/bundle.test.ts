import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { CLOUD_CA_PATH, KUBELET_CA_PATH, REGISTRY_PULL_SECRET_PATH } from '../config/certificate-paths.ts';
import { decodeContents, ignitionOf } from '../index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { certificatesOfPool } from './bundle.ts';

test('bytes that are not UTF-8 reach the node unchanged', () => {
  const bytes = Buffer.from([0x23, 0xe9, 0x0a, 0xff, 0x00]);
  const data = bytes.toString('base64');
  const pool = partial<MachineConfigPool>({ metadata: { name: 'worker', uid: 'u' } });
  const spec = {
    kubeAPIServerServingCAData: data,
    cloudProviderCAData: data,
    internalRegistryPullSecret: data,
    imageRegistryBundleData: [{ file: 'registry..5000', data }],
  };
  const config = certificatesOfPool(pool, [], partial<ControllerConfig>({ metadata: { name: 'c' }, spec }));
  const files = (config && ignitionOf(config)?.storage?.files) ?? [];
  expect(files.map(({ path, contents }) => [path, decodeContents(contents?.source, contents?.compression)])).toEqual(
    [KUBELET_CA_PATH, CLOUD_CA_PATH, REGISTRY_PULL_SECRET_PATH, '/etc/docker/certs.d/registry:5000/ca.crt'].map(
      (path) => [path, bytes],
    ),
  );
});
