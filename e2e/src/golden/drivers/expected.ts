import { MachineCodes } from '@mcm/core';
import { withoutUndefined } from '@mcm/kube';
import type { RecordedCall, RecordedCase, RecordedRequest, RecordedResult, RecordedStep } from './recording.ts';

export type ExpectedRequest = RecordedRequest & { readonly optional?: boolean };

export type ExpectedResult = RecordedResult & {
  readonly textMatches?: RegExp;
  /** If true, no recording contains the response, so the response is not compared. */
  readonly unknownResponse?: boolean | undefined;
  readonly codes?: readonly (string | null)[];
};

/** What this driver must do in a recording of the original. */
export interface Expected {
  readonly requests: readonly ExpectedRequest[];
  /** If `extent` is `whole`, the driver must send exactly the expected requests. */
  readonly extent: 'whole' | 'may end earlier' | 'may continue';
  readonly result: ExpectedResult;
  readonly metrics: RecordedCall['metrics'];
}

export interface Situation {
  readonly recorded: RecordedCase;
  readonly step: RecordedStep;
  readonly index: number;
  readonly provider: string;
}

export interface Rule {
  readonly row: string;
  /** @returns the new expectation; undefined if the rule does not apply */
  readonly expect: (expected: Expected, situation: Situation) => Expected | undefined;
}

/** What a call must do, with the rows of the applied rules. */
export interface Expectation {
  readonly expected: Expected;
  readonly rows: readonly string[];
}

export interface PlayedCall {
  readonly recorded: RecordedCase;
  readonly step: RecordedStep;
  readonly expect: (call: RecordedCall) => Expectation;
  /** Returns the difference between the call and the expectation for a recording. */
  readonly verify: (call: RecordedCall) => string | undefined;
}

export function expectationOf(call: RecordedCall, rules: readonly Rule[], situation: Situation): Expectation {
  const start: Expectation = {
    expected: { requests: call.requests, extent: 'whole', result: call.result, metrics: call.metrics },
    rows: [],
  };
  return rules.reduce(({ expected, rows }, { row, expect }) => {
    const next = expect(expected, situation);
    return next ? { expected: next, rows: [...rows, row] } : { expected, rows };
  }, start);
}

const OPERATIONS: Readonly<Record<string, string>> = {
  CreateMachine: 'create_machine',
  InitializeMachine: 'initialize_machine',
  GetMachineStatus: 'get_machine_status',
  DeleteMachine: 'delete_machine',
  ListMachines: 'list_machine',
  GetVolumeIDs: 'get_volume_ids',
};

function driverMetrics({ step, provider }: Situation, code: string | null): Readonly<Record<string, number>> {
  const operation = OPERATIONS[step.method] ?? '';
  const number = Object.entries(MachineCodes).find(([name]) => name === code)?.[1];
  return code === null
    ? { [`mcm_cloud_api_driver_request_duration_seconds_count{operation="${operation}",provider="${provider}"}`]: 1 }
    : {
        [`mcm_cloud_api_driver_requests_failed_total{error_code="${number}",operation="${operation}",provider="${provider}"}`]: 1,
      };
}

const isOfDriver = (name: string): boolean => name.startsWith('mcm_cloud_api_driver_');

export const withoutServices = (metrics: Expected['metrics']): Expected['metrics'] =>
  metrics && Object.fromEntries(Object.entries(metrics).filter(([name]) => isOfDriver(name)));

function counted(metrics: Expected['metrics'], situation: Situation, code: string | null): Expected['metrics'] {
  if (!metrics) return undefined;
  const others = Object.entries(metrics).filter(([name]) => !isOfDriver(name));
  const isCounted = others.length < Object.keys(metrics).length;
  return { ...Object.fromEntries(others), ...(isCounted ? driverMetrics(situation, code) : {}) };
}

/** Returns a rule for a call that must fail with a code. */
export const failsWith = (
  expected: Expected,
  situation: Situation,
  code: string,
  change: Partial<ExpectedResult> = {},
): Expected => ({
  ...expected,
  result: {
    ...expected.result,
    response: null,
    errorCode: code,
    // If the rule has a pattern for the whole error text, the text of the cloud needs no separate check.
    ...withoutUndefined({ cloudError: change.textMatches ? null : undefined }),
    ...change,
  },
  metrics: counted(expected.metrics, situation, code),
});

/** Returns the expectation that a call succeeds with a response. */
export const succeeds = (
  expected: Expected,
  situation: Situation,
  response?: RecordedResult['response'],
): Expected => ({
  ...expected,
  result: {
    response: response ?? null,
    errorCode: null,
    unknownResponse: response ? undefined : true,
  },
  metrics: counted(expected.metrics, situation, null),
});

const withMetrics = (expected: Expected, change: Readonly<Record<string, number | string>>): Expected => ({
  ...expected,
  metrics: expected.metrics && { ...expected.metrics, ...change },
});

export const anyCountOf = (expected: Expected, which: RegExp): Expected => {
  const services = Object.keys(expected.metrics ?? {}).filter((name) => which.test(name));
  return withMetrics(expected, Object.fromEntries(services.map((name) => [name, '*'])));
};
