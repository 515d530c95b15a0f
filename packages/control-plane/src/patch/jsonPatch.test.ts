import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { applyJsonPatch, MAX_COPIED_BYTES, MAX_OPERATIONS } from './jsonPatch.ts';

const target: JsonObject = { data: { a: '1', 'x/y': '2', 'm~n': '3' }, list: ['a', 'b'] };

const refusal = (operations: unknown): StatusError['status'] => {
  try {
    applyJsonPatch(target, operations);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('applyJsonPatch', () => {
  it.each([
    [
      { op: 'add', path: '/data/b', value: '2' },
      { data: { ...(target.data as object), b: '2' }, list: ['a', 'b'] },
    ],
    [
      { op: 'add', path: '/list/-', value: 'c' },
      { ...target, list: ['a', 'b', 'c'] },
    ],
    [
      { op: 'add', path: '/list/0', value: 'z' },
      { ...target, list: ['z', 'a', 'b'] },
    ],
    [
      { op: 'remove', path: '/list/0' },
      { ...target, list: ['b'] },
    ],
    [
      { op: 'replace', path: '/list/1', value: 'c' },
      { ...target, list: ['a', 'c'] },
    ],
    [
      { op: 'replace', path: '/data/x~1y', value: '9' },
      { ...target, data: { a: '1', 'x/y': '9', 'm~n': '3' } },
    ],
    [
      { op: 'replace', path: '/data/m~0n', value: '9' },
      { ...target, data: { a: '1', 'x/y': '2', 'm~n': '9' } },
    ],
    [
      { op: 'replace', path: '/data/new', value: '9' },
      { ...target, data: { ...(target.data as object), new: '9' } },
    ],
    [
      { op: 'move', from: '/data/a', path: '/data/z' },
      { ...target, data: { 'x/y': '2', 'm~n': '3', z: '1' } },
    ],
    [
      { op: 'copy', from: '/list/0', path: '/list/-' },
      { ...target, list: ['a', 'b', 'a'] },
    ],
    [
      { op: 'copy', from: '/data/none', path: '/data/q' },
      { ...target, data: { ...(target.data as object), q: null } },
    ],
    [{ op: 'test', path: '/list', value: ['a', 'b'] }, target],
  ])('%j', (operation, expected) => {
    expect(applyJsonPatch(target, [operation])).toEqual(expected);
  });

  it('a JSON patch does not change the target', () => {
    const before = JSON.stringify(target);
    applyJsonPatch(target, [
      { op: 'remove', path: '/data' },
      { op: 'add', path: '/list/-', value: 1 },
    ]);
    expect(JSON.stringify(target)).toBe(before);
  });

  it.each([
    { op: 'remove', path: '/data/none' },
    { op: 'remove', path: '/list/9' },
    { op: 'add', path: '/none/deep', value: 1 },
    { op: 'add', path: '/list/5', value: 1 },
    { op: 'test', path: '/data/a', value: 'other' },
    { op: 'odd', path: '/data/a' },
    { path: '/data/a', value: 1 },
    { op: 'replace', path: '', value: [] },
  ])('%j is refused with 422', (operation) => {
    expect(refusal([operation])).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
  });

  it('an invalid list of operations, and too many operations, are refused', () => {
    expect(refusal({ op: 'add' })).toMatchObject({
      code: 400,
      message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    });
    const many = Array.from({ length: MAX_OPERATIONS + 1 }, () => ({ op: 'test', path: '/data/a', value: '1' }));
    expect(refusal(many)).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  });

  it('copies are refused as soon as their total exceeds the limit', () => {
    // Each operation doubles the data, so 40 operations would need a terabyte.
    const doubled = Array.from({ length: 40 }, (_, index) => ({
      op: 'copy',
      from: '/data',
      path: `/data/copy${index}`,
    }));
    const long = { op: 'add', path: '/data/long', value: 'x'.repeat(10_000) };
    expect(refusal([long, ...doubled])).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
  });

  it('copies are accepted up to the limit, counted in bytes of JSON', () => {
    // The JSON of this text contains two quotes, a two-byte character, and a character that Go escapes with six
    // characters.
    const text = `${'x'.repeat(MAX_COPIED_BYTES / 2 - 10)}é<`;
    const copy = (path: string) => ({ op: 'copy', from: '/text', path });
    const copied = applyJsonPatch({ text }, [copy('/a'), copy('/b')]);
    expect(copied).toEqual({ text, a: text, b: text });
    expect(() => applyJsonPatch({ text, one: 1 }, [copy('/a'), copy('/b'), { ...copy('/c'), from: '/one' }])).toThrow(
      'the server rejected our request',
    );
  });

  it('a JSON patch never changes a prototype', () => {
    const patched = applyJsonPatch(target, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype);
    expect(refusal([{ op: 'add', path: '/constructor/prototype/x', value: 1 }]).code).toBe(422);
  });
});
