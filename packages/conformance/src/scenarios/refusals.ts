import type { Machine } from '@mcm/api';
import type { MachineError } from '@mcm/core';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import { isSoon, type Listed, type Process, type Stage } from '../stage/stage.ts';
import type { HttpAnswer } from '../stage/target.ts';
import { requestsOfCreation } from './creation.ts';

const EARLY_MS = 20;

async function throttled(stage: Stage, answer: HttpAnswer, seconds: number): Promise<void> {
  const requests = await requestsOfCreation(stage);
  for (let at = 0; at < requests.length; at++) {
    const process = stage.process();
    const machine = stage.machine(`throttled-${at}`);
    const when = `when the cloud throttles request ${at + 1} of a creation`;
    const now = (): number => stage.world.clock.now().getTime();
    let refusedAt: number | undefined;
    let nextAt: number | undefined;
    process.wire.assess = (_, index) => {
      // The driver may have sent parallel requests before it read the error response.
      if (refusedAt !== undefined) nextAt ??= now();
      if (index !== at) return 'passes';
      queueMicrotask(() => {
        refusedAt = now();
      });
      return answer;
    };
    const onError = (error: MachineError): void =>
      expect(
        isSoon(error) || error.retryAfterMs !== undefined,
        `${when}, the creation reports ${error.code}, and mcm does not retry this code soon`,
      );
    await stage.retry(`creation ${when}`, () => stage.create(process, machine), onError);
    // If a creation polls its VM, it may send fewer requests than the first creation.
    const waited = refusedAt === undefined ? undefined : (nextAt ?? now()) - refusedAt;
    expect(
      waited === undefined || waited >= seconds * 1_000 - EARLY_MS,
      `${when} with Retry-After ${seconds}, the next request comes after ${(waited ?? 0) / 1_000} s`,
    );
    const mine = await stage.listedOne(machine);
    expect(mine.length === 1, `${when}, the driver creates ${mine.length} VMs`);
    await stage.retry('deletion', () => stage.delete(process, machine));
  }
}

/** Refuses each write request that the driver sends during a creation. The driver must report ResourceExhausted, because the class is correct. */
async function exhausted(stage: Stage, answer: HttpAnswer): Promise<void> {
  const requests = await requestsOfCreation(stage);
  const writes = requests.flatMap((request, at) => (stage.isWrite(request) ? [at] : []));
  if (writes.length === 0)
    throw new Skip('`dialect.writes` matches no request of a creation; correct `dialect.writes`');
  const process = stage.process();
  const machine = stage.machine('exhausted');
  process.wire.assess = (request) => (stage.isWrite(request) ? answer : 'passes');
  const ended = await stage.end(stage.create(process, machine));
  expect(!ended.ok, 'the driver reports a successful creation although the cloud refuses the request');
  expect(
    ended.error.code === 'ResourceExhausted',
    `the driver reports missing capacity or quota as ${ended.error.code} instead of ResourceExhausted: ${ended.error.message}`,
  );
  process.wire.assess = () => 'passes';
  await stage.must('creation after the zone has capacity again', stage.create(process, machine));
}

interface Half {
  readonly process: Process;
  readonly machine: Machine;
  readonly names: ReadonlySet<string>;
  readonly made: () => Promise<readonly string[]>;
  readonly when: string;
}

/** Refuses all requests of a creation, starting with the given request. */
async function halfWay(stage: Stage, remove: (half: Half) => Promise<void>): Promise<void> {
  const requests = await requestsOfCreation(stage);
  const before = new Set(await stage.inventory());
  const made = async (): Promise<readonly string[]> => (await stage.inventory()).filter((each) => !before.has(each));
  const names = new Set<string>();
  for (let at = 0; at < requests.length; at++) {
    const process = stage.process();
    const machine = stage.machine(`half-${at}`);
    names.add(machine.metadata.name);
    let refused = false;
    process.wire.assess = (_, index) => {
      if (index < at) return 'passes';
      refused = true;
      return stage.target.dialect.exhausted;
    };
    const ended = await stage.end(stage.create(process, machine));
    expect(
      !ended.ok || !refused,
      `the driver reports a successful creation although the cloud refuses request ${at + 1} and all later requests`,
    );
    process.wire.assess = () => 'passes';
    await remove({
      process,
      machine,
      names,
      made,
      when: `after the cloud has refused request ${at + 1} and all later requests of a creation`,
    });
  }
}

/**
 * Removes the resources of a creation as the orphan collection does, with the list of the driver. If the cloud accepted
 * one request and refused the next request, it may complete the first request later.
 */
async function sweep(stage: Stage, { process, machine, names, made, when }: Half): Promise<void> {
  await stage.settle();
  const found = await made();
  if (found.length === 0) return;
  const isOwn = ({ machineName }: Listed): boolean => names.has(machineName);
  const listed = (await stage.listedLate((vms) => vms.some(isOwn))).filter(isOwn);
  expect(
    listed.length > 0,
    `${when}, these resources remain in the cloud, but the list of the driver does not contain ${machine.metadata.name}: ${found.join(', ')}`,
  );
  for (const { providerId, machineName } of listed)
    await stage.retry('deletion of the listed resources', () =>
      stage.delete(process, stage.madeUp(machineName, providerId)),
    );
  const left = await made();
  expect(left.length === 0, `${when}, these resources remain after the deletion of the machine: ${left.join(', ')}`);
}

export const refusals: readonly Scenario[] = [
  {
    name: 'throttling without Retry-After',
    impact: 'when the cloud throttles the account, machines are minutes late or get two VMs',
    run: (stage) => throttled(stage, stage.target.dialect.throttled, 0),
  },
  {
    name: 'throttling with Retry-After',
    impact: 'requests continue during the throttling, so the cloud extends the throttling of the whole account',
    run: (stage) => {
      const { throttled: answer } = stage.target.dialect;
      const { retryAfterS } = stage.pace;
      const headers = { ...answer.headers, 'retry-after': String(retryAfterS) };
      return throttled(stage, { ...answer, headers }, retryAfterS);
    },
  },
  {
    name: 'exhausted capacity',
    impact: 'the autoscaler does not try another zone, and every machine requests a VM in the zone without capacity',
    run: (stage) => exhausted(stage, stage.target.dialect.exhausted),
  },
  {
    name: 'exhausted quota',
    impact: 'the autoscaler does not try another node group, and the error looks like a problem of the class',
    run: (stage) => {
      const { quota } = stage.target.dialect;
      if (!quota) throw new Skip('the configuration has no field dialect.quota');
      return exhausted(stage, quota);
    },
  },
  {
    name: 'the deletion removes all resources of a partly failed creation',
    impact: 'disks and network interfaces without a VM remain and cost money',
    run: (stage) =>
      halfWay(stage, async (half) => {
        const { process, machine, made, when } = half;
        const visible = new Set(await made());
        await stage.retry('deletion', () => stage.delete(process, machine));
        const left = (await made()).filter((each) => visible.has(each));
        expect(
          left.length === 0,
          `${when}, these resources remain after the deletion of the machine: ${left.join(', ')}`,
        );
        await sweep(stage, half);
      }),
  },
  {
    name: 'the list contains the remaining resources of a partly failed creation',
    impact: 'no controller finds the remaining resources of a deleted Machine, and these resources cost money',
    run: (stage) => halfWay(stage, (half) => sweep(stage, half)),
  },
];
