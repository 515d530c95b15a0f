import { driverReference, shortestSecret } from '@mcm/core';
import { expect } from '../stage/outcome.ts';
import { listenToOutput } from '../stage/output.ts';
import type { Scenario } from '../stage/scenario.ts';
import { wrongTypes } from '../stage/spec-cases.ts';
import type { Process, Stage } from '../stage/stage.ts';
import type { HttpAnswer } from '../stage/target.ts';
import { type SeenRequest, withMessage } from '../stage/wire.ts';
import { requestsOfCreation } from './creation.ts';

const wrong = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? 'nonsense' : { nonsense: [true] };

const PART = 24;

const ECHOES: readonly ((request: SeenRequest, secrets: readonly string[]) => string)[] = [
  (_, secrets) => secrets.join(' '),
  ({ method, path, headers, body }) => `cannot take ${method} ${path} ${JSON.stringify(headers)} ${body}`,
  ({ headers, body }) => JSON.stringify({ headers, body: decoded(body) }),
  ({ body }) => `cannot take ${body.slice(0, Math.floor(body.length * 0.6))}…`,
  ({ body }) => `cannot take …${body.slice(Math.floor(body.length * 0.4))}`,
];

const decoded = (body: string): string => {
  try {
    return decodeURIComponent(body.replaceAll('+', ' '));
  } catch {
    return body;
  }
};

const partsOf = (secret: string): readonly string[] =>
  secret.length <= PART
    ? [secret]
    : Array.from({ length: Math.ceil((secret.length - PART) / 8) }, (_, i) => secret.slice(i * 8, i * 8 + PART));

interface Guarded {
  readonly text: string;
  readonly source: string;
}

const valuesOf = ({ target }: Stage): readonly Guarded[] =>
  Object.entries(target.secret)
    .filter(([key, value]) => value.trim().length >= shortestSecret(key))
    .map(([key, text]) => ({ text, source: `secret.${key}` }));

const onTheWire = (values: readonly Guarded[]): readonly Guarded[] =>
  values.flatMap(({ text, source }) =>
    [text, encodeURIComponent(text), ...partsOf(Buffer.from(text).toString('base64'))].map((each) => ({
      text: each,
      source,
    })),
  );

const lettingIn = ({ headers }: SeenRequest): readonly Guarded[] =>
  Object.entries(headers)
    .filter(([name]) => /^(proxy-)?authorization$|^cookie$|-token$/i.test(name))
    .flatMap(([name, value]) =>
      value
        .split(/[\s,]+/)
        .map((word) => word.slice(word.indexOf('=') + 1))
        .filter((word) => word.length > 16 && !/^AWS4-HMAC-SHA256$|;/.test(word))
        .map((text) => ({ text, source: `the request header ${name.toLowerCase()}` })),
    );

/** Resolves with the error text of a driver call, and with the secrets that the text must not contain. */
async function saidOf(stage: Stage, process: Process, call: () => Promise<unknown>, secrets: readonly Guarded[]) {
  const before = process.wire.seen.length;
  const ended = await stage.end(call());
  const seen = process.wire.seen.slice(before);
  return { said: ended.ok ? '' : ended.error.message, secrets: [...secrets, ...seen.flatMap(lettingIn)] };
}

/**
 * The controller removes known secrets from errors, but the driver itself must not add secrets to its errors. A value
 * in the path of a request, such as the ID of an account, is not confidential.
 */
async function addsNoSecret(stage: Stage, guarded: readonly Guarded[]): Promise<void> {
  const process = stage.process();
  process.wire.assess = () => withMessage(stage.target.dialect.exhausted, 'not now');
  await stage.end(stage.create(process, stage.machine()));
  await stage.end(process.invoker.list(stage.machineClass));
  const { seen } = process.wire;
  const hidden = guarded.filter(({ text }) => !seen.some(({ path }) => path.includes(text)));
  for (const { text, source } of [...hidden, ...seen.flatMap(lettingIn)])
    for (const raw of process.rawErrors)
      expect(!raw.includes(text), `the driver adds the value of ${source} to an error: ${raw.replaceAll(text, '***')}`);
}

export const callBehavior: readonly Scenario[] = [
  {
    name: 'a call ends when its signal aborts',
    impact: 'the stop of a controller or the deletion of a machine waits for a cloud that does not answer',
    run: async (stage) => {
      const requests = await requestsOfCreation(stage);
      for (let at = 0; at < requests.length; at++) {
        const process = stage.process();
        process.wire.assess = (_, index) => (index === at ? 'hangs' : 'passes');
        let over = false;
        const end = (): void => {
          over = true;
        };
        const call = stage.create(process, stage.machine(`told-${at}`));
        call.then(end, end);
        // If a creation polls its VM, it may send fewer requests than the first creation.
        if (!(await stage.passUntil(() => process.wire.seen.length > at || over)) || over) continue;
        const { clock } = stage.world;
        const since = clock.monotonic();
        process.stop.abort(new Error('the process stops'));
        const ended = await stage.end(call);
        const ms = clock.monotonic() - since;
        expect(!ended.ok, 'the driver reports a successful creation although the signal of the call aborted');
        expect(
          ms <= stage.pace.endWithinMs,
          `the creation continues for ${Math.round(ms) / 1_000} s after the abort of its signal, while the cloud does not answer request ${at + 1}`,
        );
      }
    },
  },
  {
    name: 'a call ends at its deadline',
    impact: 'one request without a response blocks its machine forever',
    run: async (stage) => {
      await requestsOfCreation(stage);
      const { timeouts, endWithinMs } = stage.pace;
      const process = stage.process({ timeouts });
      process.wire.assess = () => 'hangs';
      const { clock } = stage.world;
      const since = clock.monotonic();
      const ended = await stage.end(stage.create(process, stage.machine()));
      const ms = clock.monotonic() - since;
      expect(!ended.ok, 'the driver reports a successful creation although the cloud answers no request');
      expect(
        ms <= timeouts.create + endWithinMs,
        `the cloud answers no request, and the creation takes ${Math.round(ms) / 1_000} s, more than its limit of ${timeouts.create / 1_000} s`,
      );
      expect(
        ['DeadlineExceeded', 'Unavailable', 'Unknown', 'Aborted'].includes(ended.error.code),
        `the creation reports ${ended.error.code} although the cloud does not answer, and mcm does not retry this code soon`,
      );
    },
  },
  {
    name: 'no output contains secrets',
    impact: 'credentials and user data appear in the status of machines, in events and in logs',
    run: async (stage) => {
      const values = valuesOf(stage);
      const all = onTheWire(values);
      const texts = all.map(({ text }) => text);
      const { throttled, exhausted, unauthorized } = stage.target.dialect;
      const answers: readonly HttpAnswer[] = [
        exhausted,
        throttled,
        ...(unauthorized ? [unauthorized] : []),
        { status: 400, body: '{message}' },
      ];
      for (const answer of answers) {
        for (const echo of ECHOES) {
          const process = stage.process();
          process.wire.assess = (request) => withMessage(answer, echo(request, texts));
          const machine = stage.machine();
          for (const call of [
            () => stage.create(process, machine),
            () => process.invoker.list(stage.machineClass),
          ] satisfies readonly (() => Promise<unknown>)[]) {
            const { said, secrets } = await saidOf(stage, process, call, all);
            for (const { text, source } of secrets)
              expect(!said.includes(text), `an error contains the value of ${source}: ${said.replaceAll(text, '***')}`);
          }
        }
      }
      await addsNoSecret(stage, all);
      const output = listenToOutput();
      await stage.must('creation', stage.create(stage.process(), stage.machine())).finally(output.stop);
      const logged = JSON.stringify(stage.log.lines);
      for (const { text, source } of values) {
        const quoted = JSON.stringify(text).slice(1, -1);
        expect(!logged.includes(quoted), `a line of the log contains the value of ${source}`);
        const printed = output.text().includes(text) || output.text().includes(quoted);
        expect(!printed, `the driver prints the value of ${source} to standard output or standard error`);
      }
    },
  },
  {
    name: 'an invalid provider spec',
    impact: 'users do not notice an error in a class, because no message names the wrong field',
    run: async (stage) => {
      const { providerSpec } = stage.target.machineClass;
      const ignored = stage.target.ignoredFields ?? [];
      const empty = await refusal(stage, {});
      expect(empty !== undefined, 'the driver accepts an empty provider spec');
      for (const [field, value] of Object.entries(providerSpec)) {
        if (ignored.includes(field)) continue;
        const said = await refusal(stage, { ...providerSpec, [field]: wrong(value) });
        expect(said !== undefined, `providerSpec.${field}: ${JSON.stringify(wrong(value))} is accepted`);
        expect(said.includes(field), `the error for an invalid providerSpec.${field} does not name the field: ${said}`);
      }
      const { providerSpec: schema } = driverReference(stage.process().driver);
      for (const { path, field, spec } of wrongTypes(schema, providerSpec)) {
        if (ignored.some((each) => path.startsWith(each))) continue;
        const said = await refusal(stage, spec);
        expect(said !== undefined, `the driver accepts a value of the wrong type in providerSpec.${path}`);
        expect(said.includes(field), `the error for an invalid providerSpec.${path} does not name the field: ${said}`);
      }
    },
  },
  {
    name: 'a Secret with a missing key',
    impact: 'the driver reports a missing key of the Secret as an error of the cloud',
    run: async (stage) => {
      const process = stage.process({ secret: {} });
      const ended = await stage.end(process.invoker.list(stage.machineClass));
      expect(!ended.ok, 'the driver accepts an empty Secret');
      const { length } = process.wire.seen;
      expect(length === 0, `the driver sends ${length} requests to the cloud although the Secret is empty`);
    },
  },
];

/** Calls the driver with an invalid class. */
async function refusal(stage: Stage, spec: Readonly<Record<string, unknown>>): Promise<string | undefined> {
  const process = stage.process({ spec });
  const { seen } = process.wire;
  const ended = await stage.end(stage.create(process, stage.machine('refused')));
  if (ended.ok) return undefined;
  expect(seen.length === 0, `the driver sends ${seen.length} requests to the cloud although the class is invalid`);
  return ended.error.message;
}
