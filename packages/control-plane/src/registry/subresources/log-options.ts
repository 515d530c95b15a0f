import { badRequest, forbiddenValue, invalid, invalidValue } from '../../apimachinery/errors/errors.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { parseInteger } from '../../resources/options.ts';

const RFC3339 = /^\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** @throws StatusError 400 for an invalid integer */
function integer(query: URLSearchParams, name: string): number | undefined {
  if (query.get(name) === '') throw badRequest('strconv.ParseInt: parsing "": invalid syntax');
  return parseInteger(query.get(name));
}

/**
 * @throws StatusError 400 with the text of Go's `time.Parse`
 */
function sinceTime(query: URLSearchParams): string | undefined {
  const time = query.get('sinceTime') ?? '';
  if (time === '') return undefined;
  if (RFC3339.test(time)) return time;
  const shown = JSON.stringify(time);
  const [, month, rest] = /^\d{4}-(\d\d)-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(.*)$/.exec(time) ?? [];
  if (month !== undefined && (month < '01' || month > '12'))
    throw badRequest(`parsing time ${shown}: month out of range`);
  const [wrong, as] = rest === undefined ? [time, '2006'] : [rest, 'Z07:00'];
  throw badRequest(
    `parsing time ${shown} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(wrong)} as "${as}"`,
  );
}

/**
 * Validates the log options, before the server reads the pod (`ValidatePodLogOptions`).
 * @throws StatusError 400 for values that cannot be parsed, 422 for wrong values
 */
export function checkLogOptions(query: URLSearchParams, pod: string): void {
  const sinceSeconds = integer(query, 'sinceSeconds');
  const time = sinceTime(query);
  const tailLines = integer(query, 'tailLines');
  const limitBytes = integer(query, 'limitBytes');
  const causes: StatusCause[] = [];
  if (tailLines !== undefined && tailLines < 0) {
    causes.push(invalidValue('tailLines', tailLines, 'must be greater than or equal to 0'));
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    causes.push(invalidValue('limitBytes', limitBytes, 'must be greater than 0'));
  }
  if (sinceSeconds !== undefined && time !== undefined) {
    // Go prints the empty path of this error as `[]`.
    causes.push(forbiddenValue('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    causes.push(invalidValue('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  }
  if (query.has('stream')) causes.push(forbiddenValue('stream', 'may not be specified'));
  if (causes.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, pod, causes);
}
