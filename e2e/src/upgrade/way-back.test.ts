import { Annotations, crds, Labels, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type KubeObject, namespaces, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { CRDS } from '../drivers/fleet.ts';
import { formOf, LACKING } from './crd-forms.ts';

/**
 * All settings and records of mcm are annotations and labels, so an API server with the CRDs of the original stores
 * them.
 */

const NAMESPACE = 'test';
const CLASS = { kind: 'MachineClass', name: 'small' };
const TEMPLATE = { metadata: { labels: { name: 'w' } }, spec: { class: CLASS } };
const SELECTOR = { matchLabels: { name: 'w' } };
const KINDS = [
  [machineDeployments, { spec: { replicas: 0, selector: SELECTOR, template: TEMPLATE } }],
  [machineSets, { spec: { replicas: 0, selector: SELECTOR, template: TEMPLATE } }],
  [machines, { spec: { class: CLASS } }],
  [machineClasses, { provider: 'local', providerSpec: { machineType: 'small' } }],
] as const;

const all = (keys: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.values(keys).map((key, index) => [key, `v${index}`]));

async function apply(admin: KubeClient, form: readonly object[]): Promise<void> {
  const resource = admin.resource(CRDS);
  for (const crd of form as typeof crds) {
    const { metadata } = await resource.get(crd.metadata.name);
    await resource.update({ ...crd, metadata } as never);
  }
}

test.each(Object.keys(LACKING))(
  'the CRDs of the original’s %s keep all settings and records of mcm',
  async (release) => {
    const clock = new VirtualClock();
    const plane = await startControlPlane({ clock, random: () => 0.5, crds, controllers: false });
    const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock });
    await admin.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    const [annotations, labels] = [all(Annotations), all(Labels)];
    for (const [definition, body] of KINDS) {
      const object = { ...body, metadata: { name: 'one', namespace: NAMESPACE, annotations, labels } };
      await admin.resource<KubeObject>(definition as never, NAMESPACE).create(object as never);
    }
    await apply(admin, formOf(release));
    for (const [definition] of KINDS) {
      const resource = admin.resource<KubeObject>(definition as never, NAMESPACE);
      const read = await resource.get('one');
      await resource.update({ ...read, metadata: { ...read.metadata, finalizers: ['example.com/original'] } });
    }
    await apply(admin, crds);
    for (const [definition] of KINDS) {
      const { metadata } = await admin.resource<KubeObject>(definition as never, NAMESPACE).get('one');
      expect([metadata.annotations, metadata.labels], definition.kind).toEqual([annotations, labels]);
      expect(metadata.finalizers).toContain('example.com/original');
    }
    await plane.close();
  },
);
