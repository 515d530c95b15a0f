import { startControlPlane } from '@mcm/control-plane';
import { createClient, nodes, VirtualClock } from '@mcm/kube';
import { malformations } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { NodeAnnotations } from '../constants/annotations.ts';
import { machineConfigCrds } from '../crd/crds.ts';
import { machineConfigs } from '../kinds/resources.ts';
import { PlayedFleet } from './fleet.testing.ts';

const { CurrentConfig, DesiredConfig, State, Reason } = NodeAnnotations;

const OPEN = machineConfigCrds.map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return { ...crd, spec: { ...spec, versions: spec.versions.map((version) => ({ ...version, schema })) } };
});

const VALID = { config: { ignition: { version: '3.4.0' } } };

function alone({ spec }: Record<string, unknown>, field: string): object {
  const [, root = ''] = /^spec\.(\w+)/.exec(field) ?? [];
  return root === '' ? { spec } : { spec: { ...VALID, [root]: (spec as Record<string, unknown>)[root] } };
}

test('a daemon whose config has any field missing, null or of another type reports it on its Node and writes nothing', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: OPEN, controllers: false });
  const client = createClient({
    transport: plane.transport,
    userAgent: 'test',
    clock,
  });
  const fleet = new PlayedFleet(client, clock);
  try {
    const configs = client.resource(machineConfigs);
    await configs.create({ metadata: { name: 'good' }, spec: VALID });
    const all = [...malformations(machineConfigs.shape ?? {})];
    for (const [index, { content, field }] of all.entries()) {
      await configs.create({ metadata: { name: `bad-${index}` }, ...alone(content, field) } as never);
      const annotations = { [CurrentConfig]: 'good', [DesiredConfig]: `bad-${index}`, [State]: 'Done' };
      await client.resource(nodes).create({ metadata: { name: `n${index}`, annotations }, spec: {} });
    }
    await clock.advance(60_000);
    for (const [index, { what, field, reported }] of all.entries()) {
      const { annotations = {} } = (await client.resource(nodes).get(`n${index}`)).metadata;
      const shown = [what, annotations[State], annotations[Reason], annotations[CurrentConfig]];
      // The daemon treats null as an empty text, as the original does.
      if (!reported || what.endsWith(' is null')) continue;
      const named = expect.stringContaining(`MachineConfig bad-${index} is malformed: ${field} is `);
      expect(shown).toEqual([what, 'Unreconcilable', named, 'good']);
      expect(fleet.host(`n${index}`).actions).toEqual([]);
    }
    const name = `n${all.findIndex(({ reported }) => reported)}`;
    const body = { metadata: { annotations: { [DesiredConfig]: 'good' } } };
    await client.resource(nodes).patch(name, { type: 'merge', body });
    await clock.advance(60_000);
    expect((await client.resource(nodes).get(name)).metadata.annotations?.[State]).toBe('Done');
  } finally {
    fleet.stop();
    await plane.close();
  }
});
