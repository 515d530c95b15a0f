import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Listed, Stage } from '../stage/stage.ts';
import { VOLUME_SOURCES } from '../stage/volume-sources.ts';
import type { RequestOutcome } from '../stage/wire.ts';

const withId = (machine: ReturnType<Stage['machine']>, providerID: string) => ({
  ...machine,
  spec: { ...machine.spec, providerID },
});

const NO_ANSWERS: readonly (readonly [string, RequestOutcome])[] = [
  ['the connection breaks', 'breaks'],
  ['a proxy answers', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Please log in</html>' }],
  ['a proxy answers 404', { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Not found</html>' }],
  ['the cloud fails', { status: 500, body: 'oops' }],
  ['the cloud returns an empty response', { status: 200, body: '' }],
];

export const lookup: readonly Scenario[] = [
  {
    name: 'initialize',
    impact: 'settings that the driver applies after the launch of a VM are missing or applied twice',
    run: async (stage) => {
      const process = stage.process();
      if (!process.invoker.can.initialize) throw new Skip('the driver has no method initialize');
      const machine = stage.machine();
      const { providerId } = await stage.must('creation', stage.create(process, machine));
      const known = withId(machine, providerId);
      const first = await stage.must('initialize', process.invoker.initialize(known));
      const second = await stage.must('the repeated initialize', process.invoker.initialize(known));
      expect(
        first.providerId === providerId && second.providerId === providerId,
        'initialize must return the created VM, but returns another VM',
      );
      await stage.must('status after initialize', process.invoker.status(known));
    },
  },
  {
    name: 'status',
    impact: 'a machine gets a second VM, or a machine without a VM waits forever',
    run: async (stage) => {
      const process = stage.process();
      if (!process.invoker.can.status) throw new Skip('the driver does not implement GetMachineStatus');
      const machine = stage.machine();
      const none = await stage.end(process.invoker.status(machine));
      expect(
        !none.ok && none.error.code === 'NotFound',
        `before the creation, status must be NotFound, but the result is ${none.ok ? 'a VM' : none.error.code}`,
      );
      const made = await stage.must('creation', stage.create(process, machine));
      if (process.invoker.can.initialize)
        await stage.must('initialize', process.invoker.initialize(withId(machine, made.providerId)));
      for (const [variant, asked] of [
        ['without a provider ID', machine],
        ['with its provider ID', withId(machine, made.providerId)],
      ] as const) {
        const found = await stage.must(`status ${variant}`, process.invoker.status(asked));
        expect(
          found.providerId === made.providerId && found.nodeName === made.nodeName,
          `status ${variant} returns VM ${found.providerId} and node ${found.nodeName}, but the creation returned VM ${made.providerId} and node ${made.nodeName}`,
        );
      }
    },
  },
  {
    name: 'a missing response is different from NotFound',
    impact: 'mcm deletes or replaces running machines while the cloud is unreachable',
    run: async (stage) => {
      const process = stage.process();
      if (!process.invoker.can.status) throw new Skip('the driver does not implement GetMachineStatus');
      const machine = stage.machine();
      const { providerId } = await stage.must('creation', stage.create(process, machine));
      for (const [fault, outcome] of NO_ANSWERS) {
        process.wire.assess = () => outcome;
        const looked = await stage.end(process.invoker.status(withId(machine, providerId)));
        expect(!looked.ok, `when ${fault}, status returns a VM`);
        expect(
          looked.error.code !== 'NotFound',
          `when ${fault}, status reports that the VM does not exist: ${looked.error.message}`,
        );
        const listed = await stage.end(process.invoker.list(stage.machineClass));
        expect(!listed.ok, `when ${fault}, the list contains ${listed.ok ? listed.value.length : 0} VMs and no error`);
      }
    },
  },
  {
    name: 'the list contains the VMs of all pages',
    impact: 'mcm never finds orphaned VMs after the first page',
    run: async (stage) => {
      const process = stage.process();
      const machines = Array.from({ length: stage.target.listed ?? 12 }, (_, i) => stage.machine(`page-${i}`));
      for (const each of machines) await stage.must('creation', stage.create(process, each));
      const has = (vms: readonly Listed[], name: string): boolean => vms.some((vm) => vm.machineName === name);
      await stage.listedLate((vms) => machines.every(({ metadata }) => has(vms, metadata.name)));
      const requests = process.wire.seen.length;
      const names = (await stage.listed(process)).map(({ machineName }) => machineName);
      const pages = process.wire.seen.length - requests;
      for (const { metadata } of machines) {
        const times = names.filter((name) => name === metadata.name).length;
        expect(
          times === 1,
          `the list of ${machines.length} machines on ${pages} pages contains ${metadata.name} ${times} times`,
        );
      }
      if (requests > 0 && pages <= 1)
        throw new Skip(
          `one page of the list contained all ${machines.length} machines: raise \`listed\` in the configuration`,
        );
    },
  },
  {
    name: 'the list excludes VMs of other clusters',
    impact: 'the orphan search deletes machines of another cluster',
    run: async (stage) => {
      const { otherCluster } = stage.target;
      if (!otherCluster) throw new Skip('the configuration has no field otherCluster with a provider spec');
      const other = stage.process({ spec: otherCluster });
      const theirs = stage.machine('theirs', otherCluster);
      const { providerId } = await stage.must('creation', stage.create(other, theirs));
      await stage.settle();
      const listed = await stage.listed();
      expect(
        !listed.some((vm) => vm.providerId === providerId),
        `the list contains VM ${providerId}, which belongs to another cluster`,
      );
    },
  },
  {
    name: 'volumes',
    impact: 'a drain does not wait for the detachment of volumes, or waits for volumes that do not exist',
    run: async (stage) => {
      const { volumes } = stage.target;
      if (!volumes)
        throw new Skip('the configuration contains no volumes: write `volumes: []` if the cloud has no volumes');
      const { invoker } = stage.process();
      for (const { source, id } of volumes) {
        const reported = invoker.volumeIdOf(source);
        expect(
          (reported ?? null) === id,
          `the volume ${JSON.stringify(source)} ${id === null ? 'is not a volume of this cloud' : `has the id ${id}`}, but the driver returns ${reported ?? 'none'}`,
        );
      }
      const ours = new Set(volumes.flatMap(({ source, id }) => (id === null ? [] : Object.keys(source))));
      for (const [kind, source] of Object.entries(VOLUME_SOURCES)) {
        if (ours.has(kind)) continue;
        const reported = invoker.volumeIdOf({ [kind]: source });
        expect(
          reported === undefined,
          `a volume of kind ${kind}, which \`volumes\` does not contain, has the id ${reported}`,
        );
      }
      expect(invoker.volumeIdOf({}) === undefined, 'volumeIdOf returns an ID for a volume of an unknown kind');
    },
  },
];
