import { driverReference } from '@mcm/core';
import { listenToOutput } from '../output.ts';
import { expect, type Scenario, Skip } from '../scenario.ts';
import { wrongTypes } from '../spec-cases.ts';
import type { Stage } from '../stage.ts';
import type { HttpAnswer } from '../target.ts';
import { withMessage } from '../wire.ts';
import { requestsOfCreation } from './creation.ts';

/** A call must end so soon after it is told to. */
const END_WITHIN_MS = 1_000;
/** Shorter texts are words, not secrets. */
const SECRET_FROM = 6;

/** A value of a type that a field surely does not have. */
const wrong = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? 'nonsense' : { nonsense: [true] };

/** A refusal that repeats all that the caller told, as clouds now and then do. */
const echo = (answer: HttpAnswer, secrets: readonly string[]): HttpAnswer => withMessage(answer, secrets.join(' '));

export const manners: readonly Scenario[] = [
  {
    name: 'a call ends when it is told to',
    suffers: 'a controller that is to end, or a machine that is to go, waits for a cloud that does not answer',
    run: async (stage) => {
      if (!stage.world.runUntil) throw new Skip('needs a clock that is moved by hand');
      const requests = await requestsOfCreation(stage);
      for (let at = 0; at < requests.length; at++) {
        const process = stage.process();
        process.wire.judge = (_, index) => (index === at ? 'hangs' : 'passes');
        const call = stage.create(process, stage.machine(`told-${at}`));
        call.catch(() => undefined); // It is looked at below.
        await stage.pass(5_000);
        const since = stage.world.clock.now().getTime();
        process.stop.abort(new Error('the process stops'));
        const ended = await stage.end(call);
        const ms = stage.world.clock.now().getTime() - since;
        expect(!ended.ok, 'creation succeeds although it was told to end');
        expect(
          ms <= END_WITHIN_MS,
          `told to end while request ${at + 1} is not answered, creation takes ${ms / 1_000} s more`,
        );
      }
    },
  },
  {
    name: 'a call ends at its deadline',
    suffers: 'one request that is never answered holds its machine up for ever',
    run: async (stage) => {
      if (!stage.world.runUntil) throw new Skip('needs a clock that is moved by hand');
      await requestsOfCreation(stage);
      const process = stage.process();
      process.wire.judge = () => 'hangs';
      const ended = await stage.end(stage.create(process, stage.machine()));
      expect(!ended.ok, 'creation succeeds although no request is answered');
      expect(
        ['DeadlineExceeded', 'Unavailable', 'Unknown', 'Aborted'].includes(ended.error.code),
        `a creation that no request of is answered is told as ${ended.error.code}, which is not tried again soon`,
      );
    },
  },
  {
    name: 'secrets stay secret',
    suffers: 'credentials and user data stand in the status of machines, in events and in logs',
    run: async (stage) => {
      const secrets = Object.values(stage.target.secret).flatMap((value) => [
        value,
        Buffer.from(value).toString('base64'),
      ]);
      const long = secrets.filter((value) => value.trim().length >= SECRET_FROM);
      const { throttled, exhausted, unauthorized } = stage.target.dialect;
      for (const answer of [
        exhausted,
        throttled,
        ...(unauthorized ? [unauthorized] : []),
        { status: 400, body: '{message}' },
      ]) {
        const process = stage.process();
        process.wire.judge = () => echo(answer, secrets);
        const machine = stage.machine();
        const calls: readonly (() => Promise<unknown>)[] = [
          () => stage.create(process, machine),
          () => process.invoker.list(stage.machineClass),
        ];
        for (const call of calls) {
          const ended = await stage.end(call());
          const said = ended.ok ? '' : ended.error.message;
          for (const value of long)
            expect(!said.includes(value), `an error holds a value of the Secret: ${said.replaceAll(value, '***')}`);
        }
      }
      const output = listenToOutput();
      await stage.must('creation', stage.create(stage.process(), stage.machine())).finally(output.stop);
      const logged = JSON.stringify(stage.log.lines);
      for (const value of long) {
        const quoted = JSON.stringify(value).slice(1, -1);
        expect(!logged.includes(quoted), 'a line of the log holds a value of the Secret');
        const printed = output.text().includes(value) || output.text().includes(quoted);
        expect(!printed, 'the driver prints a value of the Secret to standard output or standard error');
      }
    },
  },
  {
    name: 'a provider spec that makes no sense',
    suffers: 'a mistake in a class is found by a bill, or not at all, and no message names the field',
    run: async (stage) => {
      const { providerSpec } = stage.target.machineClass;
      const ignored = stage.target.ignoredFields ?? [];
      const empty = await refusal(stage, {});
      expect(empty !== undefined, 'an empty provider spec is accepted');
      for (const [field, value] of Object.entries(providerSpec)) {
        if (ignored.includes(field)) continue;
        const said = await refusal(stage, { ...providerSpec, [field]: wrong(value) });
        expect(said !== undefined, `providerSpec.${field}: ${JSON.stringify(wrong(value))} is accepted`);
        expect(said.includes(field), `the refusal of a wrong providerSpec.${field} does not name it: ${said}`);
      }
      const { providerSpec: schema } = driverReference(stage.process().driver);
      for (const { path, field, spec } of wrongTypes(schema, providerSpec)) {
        if (ignored.some((each) => path.startsWith(each))) continue;
        const said = await refusal(stage, spec);
        expect(said !== undefined, `providerSpec.${path} of a type that its schema does not allow is accepted`);
        expect(said.includes(field), `the refusal of a wrong providerSpec.${path} does not name it: ${said}`);
      }
    },
  },
  {
    name: 'a Secret that lacks a key',
    suffers: 'a forgotten key looks like a fault of the cloud',
    run: async (stage) => {
      const process = stage.process({ secret: {} });
      const ended = await stage.end(process.invoker.list(stage.machineClass));
      expect(!ended.ok, 'an empty Secret is accepted');
      const { length } = process.wire.seen;
      expect(length === 0, `the cloud is asked ${length} times with an empty Secret`);
    },
  },
];

/** What a class is refused with, before any request; undefined when it is accepted. */
async function refusal(stage: Stage, spec: Readonly<Record<string, unknown>>): Promise<string | undefined> {
  const process = stage.process({ spec });
  const { seen } = process.wire;
  const ended = await stage.end(stage.create(process, stage.machine('refused')));
  if (ended.ok) return undefined;
  expect(seen.length === 0, `the cloud is asked ${seen.length} times with a class that makes no sense`);
  return ended.error.message;
}
