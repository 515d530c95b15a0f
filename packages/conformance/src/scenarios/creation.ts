import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Listed, Process, Stage } from '../stage/stage.ts';

async function requestsOfCreation(stage: Stage): Promise<Process['wire']['seen']> {
  const process = stage.process();
  const machine = stage.machine('baseline');
  await stage.must('a creation without faults', stage.create(process, machine));
  const { seen } = process.wire;
  const made = [...seen];
  await stage.retry('its deletion', () => stage.delete(process, machine));
  if (made.length === 0)
    throw new Skip(
      'the driver does not send its requests with the function `connect`, so the conformance kit cannot inject faults',
    );
  return made;
}

/** Repeats a call after a failure. `create`, `status` and `list` must all return this VM. */
async function endsWithOneVm(
  stage: Stage,
  process: Process,
  machine: ReturnType<Stage['machine']>,
  when: string,
): Promise<void> {
  const { providerId } = await stage.retry(`repeated creation ${when}`, () => stage.create(process, machine));
  const mine = await stage.listedOne(machine);
  expect(
    mine.length === 1,
    `${when}: ${mine.length} VMs have the name of the machine: ${mine.map((vm) => vm.providerId).join(', ')}`,
  );
  expect(
    mine[0]?.providerId === providerId,
    `${when}: the creation returns VM ${providerId}, but the list contains VM ${mine[0]?.providerId}`,
  );
  const known = { ...machine, spec: { ...machine.spec, providerID: providerId } };
  await stage.retry('deletion', () => stage.delete(process, known));
}

const NO_TEXT = Buffer.from([0x1f, 0x8b, ...Array.from({ length: 256 }, (_, i) => i)]);

/** Returns true if a body contains the bytes in one of the usual text encodings. */
function carries(body: string, bytes: Buffer): boolean {
  const forms = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
  return forms.some((form) => [form, encodeURIComponent(form)].some((each) => body.includes(each)));
}

export const creation: readonly Scenario[] = [
  {
    name: 'creation',
    impact: 'machines never become nodes, or the orphan search deletes their VMs',
    run: async (stage) => {
      const process = stage.process();
      const machine = stage.machine();
      const { providerId, nodeName } = await stage.must('creation', stage.create(process, machine));
      expect(providerId !== '', 'the creation must return a provider ID, but the provider ID is empty');
      expect(nodeName !== '', 'the creation must return a node name, but the node name is empty');
      const mine = await stage.listedOne(machine);
      expect(
        mine.length === 1 && mine[0]?.providerId === providerId,
        `the list must contain the provider ID ${providerId} for ${machine.metadata.name}, but contains ${JSON.stringify(mine)}`,
      );
    },
  },
  {
    name: 'user data can contain any bytes',
    impact: 'with compressed user data, the driver creates no VM, or a VM that does not boot',
    run: async (stage) => {
      await requestsOfCreation(stage);
      const process = stage.process({ secret: { ...stage.target.secret, userData: NO_TEXT } });
      await stage.must('creation with binary user data', stage.create(process, stage.machine()));
      expect(
        process.wire.seen.some(({ body }) => carries(body, NO_TEXT)),
        'no request to the cloud contains the user data, neither as base64 nor as hexadecimal digits',
      );
    },
  },
  {
    name: 'repeated creation finds the same VM',
    impact: 'a restart of the controller during a creation leads to a second VM, which causes unexpected costs',
    run: async (stage) => {
      const machine = stage.machine();
      const first = await stage.must('creation', stage.create(stage.process(), machine));
      const second = await stage.must('creation by another process', stage.create(stage.process(), machine));
      expect(
        first.providerId === second.providerId,
        `the first creation returns ${first.providerId}, but the second creation returns ${second.providerId}`,
      );
      const mine = await stage.listedOne(machine);
      expect(mine.length === 1, `${mine.length} VMs have the name of the machine`);
    },
  },
  {
    name: 'a crash between any two requests of a creation',
    impact: 'after a crash, the driver creates a second VM, or the machine never gets a VM',
    run: async (stage) => {
      const requests = await requestsOfCreation(stage);
      for (let at = 0; at <= requests.length; at++) {
        const dies = stage.process();
        const machine = stage.machine(`crash-${at}`);
        let reached = at === 0;
        dies.wire.assess = (_, index) => {
          if (index + 1 >= at) reached = true;
          return index < at ? 'passes' : 'hangs';
        };
        let over = false;
        const end = (): void => {
          over = true;
        };
        const lost = stage.create(dies, machine).then(end, end);
        await stage.passUntil(() => reached || over);
        // If a creation polls its VM, it may send fewer requests than the first creation.
        expect(reached || over, `the creation does not send request ${at} within ten minutes`);
        dies.stop.abort(new Error('killed'));
        if (stage.world.runUntil === undefined) await lost;
        await endsWithOneVm(stage, stage.process(), machine, `after a crash before request ${at + 1}`);
      }
    },
  },
  {
    name: 'lost responses to the requests of a creation',
    impact: 'a broken connection during a creation creates a second VM',
    run: async (stage) => {
      const requests = await requestsOfCreation(stage);
      for (let at = 0; at < requests.length; at++) {
        const process = stage.process();
        const machine = stage.machine(`lost-${at}`);
        process.wire.assess = (_, index) => (index === at ? 'answer lost' : 'passes');
        await endsWithOneVm(stage, process, machine, `after the response to request ${at + 1} is lost`);
      }
    },
  },
  {
    name: 'simultaneous creation of many machines',
    impact: 'two machines share a VM, a machine never gets a VM, or VMs remain after the deletion of their machines',
    run: async (stage) => {
      const process = stage.process();
      const machines = Array.from({ length: stage.target.machines ?? 12 }, (_, i) => stage.machine(`many-${i}`));
      const made = await stage.must(
        'creation of all machines',
        Promise.all(machines.map((each) => stage.create(process, each))),
      );
      const ids = new Set(made.map(({ providerId }) => providerId));
      expect(ids.size === machines.length, `${machines.length} machines got ${ids.size} different VMs`);
      const names = (vms: readonly Listed[]) => new Set(vms.map(({ machineName }) => machineName));
      const hasAll = (vms: readonly Listed[]): boolean =>
        machines.every(({ metadata }) => names(vms).has(metadata.name));
      const listed = names(await stage.listedLate(hasAll, process));
      for (const { metadata } of machines)
        expect(listed.has(metadata.name), `the list of the driver does not contain machine ${metadata.name}`);
      await Promise.all(
        machines.map((each) => stage.retry('deletion of all machines', () => stage.delete(process, each))),
      );
      const left = names(await stage.listed(process));
      for (const { metadata } of machines)
        expect(!left.has(metadata.name), `the list of the driver still contains the deleted machine ${metadata.name}`);
    },
  },
];

export { requestsOfCreation };
