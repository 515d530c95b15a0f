/** A range of completion indexes of a job. The list `0,2-4` contains two ranges. */
type Interval = readonly [first: number, last: number];

const MOST = 2n ** 63n - 1n;

/** @throws RangeError with the error text of kube-apiserver */
function parseIndex(part: string, completions: number): number {
  const isInteger = /^[+-]?\d+$/.test(part) && BigInt(part.replace('+', '')) <= MOST;
  if (!isInteger) throw new RangeError(`cannot convert string to integer for index: ${JSON.stringify(part)}`);
  const index = Number(part);
  if (index >= completions) throw new RangeError(`too large index: ${JSON.stringify(part)}`);
  return index;
}

/** @throws RangeError with the error text of kube-apiserver */
function parseInterval(text: string, completions: number): Interval {
  const ends = text.split('-');
  if (ends.length > 2) {
    throw new RangeError(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  }
  const first = parseIndex(ends[0] ?? '', completions);
  if (ends[1] === undefined) return [first, first];
  const last = parseIndex(ends[1], completions);
  if (first >= last) throw new RangeError(`non-increasing order, previous: ${first}, current: ${last}`);
  return [first, last];
}

/** @throws RangeError with the error text of kube-apiserver */
export function countIndexes(list: string, completions: number): number {
  if (list === '') return 0;
  let total = 0;
  let previous = -1;
  for (const text of list.split(',')) {
    const [first, last] = parseInterval(text, completions);
    if (previous >= first) throw new RangeError(`non-increasing order, previous: ${previous}, current: ${first}`);
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/** Returns the error text of kube-apiserver for an invalid list of completion indexes. */
export function indexesProblem(list: string, completions: number): string | undefined {
  try {
    countIndexes(list, completions);
    return undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return error.message;
  }
}

function readable(list: string, completions: number): Interval[] {
  if (list === '') return [];
  return list
    .split(',')
    .flatMap((text) => (indexesProblem(text, completions) === undefined ? [parseInterval(text, completions)] : []));
}

/** As in kube-apiserver, the function skips invalid ranges. */
export function sharedIndex(completed: string, failed: string, completions: number): number | undefined {
  const left = readable(completed, completions);
  const right = readable(failed, completions);
  for (let at = 0, other = 0; ; ) {
    const one = left[at];
    const two = right[other];
    if (one === undefined || two === undefined) return undefined;
    if (one[0] <= two[1] && two[0] <= one[1]) return Math.max(one[0], two[0]);
    if (one[0] <= two[0]) at += 1;
    else other += 1;
  }
}
