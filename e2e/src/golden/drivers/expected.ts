import { MachineCodes } from '@mcm/core';
import { withoutUndefined } from '@mcm/kube';
import type { RecordedCall, RecordedCase, RecordedRequest, RecordedResult, RecordedStep } from './recording.ts';

/** A request that the driver must send. With `optional`, the driver may also omit the request. */
export type ExpectedRequest = RecordedRequest & { readonly optional?: boolean };

/** The expected result of a call. */
export type ExpectedResult = RecordedResult & {
  /** A pattern for the whole error text. The pattern replaces `errorText`. */
  readonly textMatches?: RegExp;
  /** Whether the recordings do not contain the response. Such a response is not compared. */
  readonly unknownResponse?: boolean | undefined;
  /** The allowed error codes. For a success, the code is null. `codes` replaces `errorCode`. */
  readonly codes?: readonly (string | null)[];
};

/** What this driver must do in a recording of the original. */
export interface Expected {
  readonly requests: readonly ExpectedRequest[];
  /**
   * With `whole`, the driver sends exactly the expected requests. With any other value, the driver may stop earlier or
   * send more requests.
   */
  readonly extent: 'whole' | 'may end earlier' | 'may continue';
  readonly result: ExpectedResult;
  /**
   * The changes of metrics: a number, `>=1`, or `*` for any number. If the recording contains no metrics, the field is
   * undefined.
   */
  readonly metrics: RecordedCall['metrics'];
}

/** The input of a rule: the input of the call and the responses of the cloud. */
export interface Situation {
  readonly recorded: RecordedCase;
  readonly step: RecordedStep;
  /** The index of the call in its case. */
  readonly index: number;
  readonly provider: string;
}

/** An intended difference from the original. The rule changes what the recording requires. */
export interface Rule {
  /** The first cell of the row about this difference in docs/compatibility/differences.md. */
  readonly row: string;
  /** @returns the new expectation; undefined if the rule does not apply */
  readonly expect: (expected: Expected, situation: Situation) => Expected | undefined;
}

/** What a call must do, with the rows of the applied rules. */
export interface Expectation {
  readonly expected: Expected;
  readonly rows: readonly string[];
}

/** Applies all rules to a recorded call, one after the other. */
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

/** The names of the methods in the metrics. */
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

/** Returns a rule for a call that must fail with a code. All values that `change` does not contain stay the same. */
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
    // The whole text in a rule includes the text of the cloud.
    ...withoutUndefined({ cloudError: change.textMatches ? null : undefined }),
    ...change,
  },
  metrics: counted(expected.metrics, situation, code),
});

/**
 * Returns the expectation that a call succeeds with a response. If `response` is undefined, the recordings do not
 * contain the response.
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

/** Returns the expectation with other values for some metrics. */
const withMetrics = (expected: Expected, change: Readonly<Record<string, number | string>>): Expected => ({
  ...expected,
  metrics: expected.metrics && { ...expected.metrics, ...change },
});

/** Returns the expectation without the counts of services whose names match. */
export const anyCountOf = (expected: Expected, which: RegExp): Expected => {
  const services = Object.keys(expected.metrics ?? {}).filter((name) => which.test(name));
  return withMetrics(expected, Object.fromEntries(services.map((name) => [name, '*'])));
};
