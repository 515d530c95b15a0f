import { MachineCodes } from '@mcm/core';
import { withoutUndefined } from '@mcm/kube';
import type { RecordedCall, RecordedCase, RecordedRequest, RecordedResult, RecordedStep } from './recording.ts';

/** An expected request. With `optional`, the request may be missing. */
export type ExpectedRequest = RecordedRequest & { readonly optional?: boolean };

/** The expected end of a call. */
export type ExpectedResult = RecordedResult & {
  /** The pattern for the whole error text, which replaces `errorText`. */
  readonly textMatches?: RegExp;
  /** True if no recording contains the response. The response is then not compared. */
  readonly unknownResponse?: boolean | undefined;
  /** The allowed error codes, with null for success. `codes` replaces `errorCode`. */
  readonly codes?: readonly (string | null)[];
};

/** The expected behavior of this driver for a recording of the original. */
export interface Expected {
  readonly requests: readonly ExpectedRequest[];
  /**
   * With `whole`, the call sends exactly the expected requests. With the other values, the call may end earlier or send
   * more requests.
   */
  readonly extent: 'whole' | 'may end earlier' | 'may continue';
  readonly result: ExpectedResult;
  /**
   * Changes of metrics by series: a number, `>=1`, or `*` for any number. If no metrics were recorded, the field is
   * undefined.
   */
  readonly metrics: RecordedCall['metrics'];
}

/** The inputs of a rule: the inputs of the call and the responses of the cloud, without the requests of this driver. */
export interface Situation {
  readonly recorded: RecordedCase;
  readonly step: RecordedStep;
  /** The index of the call within its case. */
  readonly index: number;
  readonly provider: string;
}

/** An intended difference from the original. The rule replaces the expectation of the recording. */
export interface Rule {
  /** The first cell of the row in docs/compatibility/differences.md. */
  readonly row: string;
  /** @returns undefined if the rule does not apply. */
  readonly expect: (expected: Expected, situation: Situation) => Expected | undefined;
}

/** The expectation for a call, with the rows of the applied rules. */
export interface Expectation {
  readonly expected: Expected;
  readonly rows: readonly string[];
}

/** Applies all rules to the recording, one after the other. */
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

/** The names of the methods in metrics. */
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

/** Returns the rule for a call that fails with this code. All values outside of `change` stay. */
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
    // If a rule contains the whole text, the text includes the text of the cloud.
    ...withoutUndefined({ cloudError: change.textMatches ? null : undefined }),
    ...change,
  },
  metrics: counted(expected.metrics, situation, code),
});

/**
 * Returns the expectation that the call succeeds with this response. If `response` is absent, the response is in no
 * recording.
 */
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

/** Returns the metrics with these series replaced. */
const withMetrics = (expected: Expected, change: Readonly<Record<string, number | string>>): Expected => ({
  ...expected,
  metrics: expected.metrics && { ...expected.metrics, ...change },
});

/** Ignores the counts of services whose names match `which`. */
export const anyCountOf = (expected: Expected, which: RegExp): Expected => {
  const services = Object.keys(expected.metrics ?? {}).filter((name) => which.test(name));
  return withMetrics(expected, Object.fromEntries(services.map((name) => [name, '*'])));
};
