import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { JsonObject } from '../apimachinery/objects/object.ts';

const MISSING = 'missing value';
const INVALID_INDEX = 'invalid index referenced';

const stepsOf = (pointer: string): string[] =>
  pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

const isContainer = (value: unknown): value is JsonObject | unknown[] => isRecord(value) || Array.isArray(value);

function find(document: JsonObject, pointer: string): { holder: JsonObject | unknown[] | undefined; last: string } {
  const steps = stepsOf(pointer);
  const last = steps.pop() ?? '';
  let holder: unknown = document;
  for (const step of steps.slice(1)) {
    holder = isRecord(holder) ? own(holder, step) : Array.isArray(holder) ? holder[Number(step)] : undefined;
  }
  return { holder: isContainer(holder) ? holder : undefined, last };
}

/** Returns the reason why a step of a JSON pointer is not a valid list index. */
function indexProblem(step: string, size: number): string | undefined {
  if (!/^[+-]?\d+$/.test(step)) return `strconv.Atoi: parsing ${JSON.stringify(step)}: invalid syntax`;
  const at = Number(step);
  return at >= size || at < -size ? `Unable to access invalid index: ${at}: ${INVALID_INDEX}` : undefined;
}

function addProblem(document: JsonObject, path: string): string | undefined {
  const { holder, last } = find(document, path);
  if (!Array.isArray(holder) || last === '-') return undefined;
  const why = indexProblem(last, holder.length + 1);
  return why?.startsWith('strconv') ? `value was not a proper array index: '${last}': ${why}` : why;
}

/** Returns the reason why an operation of a JSON patch fails, with the error text of the library in kube-apiserver. */
export function patchProblem(document: JsonObject, operation: unknown): string {
  const { op, path, from } = operation as { op?: string; path?: string; from?: string };
  if (op === undefined || !['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(op)) {
    return `Unexpected kind: ${op ?? 'unknown'}`;
  }
  const source = op === 'move' || op === 'copy';
  const at = source ? from : path;
  if (at === undefined) {
    const missing =
      op === 'add' || op === 'remove'
        ? ''
        : source
          ? 'operation, missing from field: '
          : 'operation missing path field: ';
    return `${op} operation failed to decode ${source ? 'from' : 'path'}: ${missing}${MISSING}`;
  }
  const { holder, last } = find(document, at);
  if (holder === undefined) {
    const shown = op === 'add' || op === 'remove' ? JSON.stringify(at) : at;
    const what = op === 'test' ? 'is missing path' : `doc is missing ${source ? 'from ' : ''}path`;
    return `${op} operation does not apply: ${what}: ${shown}: ${MISSING}`;
  }
  const wrong = Array.isArray(holder) ? indexProblem(last, holder.length) : undefined;
  if (op === 'add') return `error in add for path: '${at}': ${addProblem(document, at) ?? INVALID_INDEX}`;
  if (op === 'replace') return `replace operation does not apply: doc is missing key: ${at}: ${MISSING}`;
  if (op === 'test') {
    return wrong === undefined
      ? `testing value ${at} failed: test failed`
      : `error in test for path: '${at}': ${wrong}`;
  }
  if (wrong !== undefined)
    return `error in ${op} for ${op === 'copy' ? 'from' : 'path'}: '${op === 'move' ? last : at}': ${wrong}`;
  const gone = !Array.isArray(holder) && own(holder, last) === undefined;
  if (gone && op !== 'copy') {
    return `error in ${op} for path: '${op === 'move' ? last : at}': Unable to remove nonexistent key: ${last}: ${MISSING}`;
  }
  const target = path ?? '';
  if (find(document, target).holder === undefined) {
    return `${op} operation does not apply: doc is missing destination path: ${target}: ${MISSING}`;
  }
  const why = addProblem(document, target) ?? INVALID_INDEX;
  return op === 'copy' ? `error while adding value during copy: ${why}` : `error in move for path: '${target}': ${why}`;
}
