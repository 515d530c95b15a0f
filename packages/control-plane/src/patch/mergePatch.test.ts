import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { applyMergePatch } from './mergePatch.ts';

describe('applyMergePatch', () => {
  // The examples in RFC 7386, appendix A, whose target and patch are objects.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ] as [JsonObject, JsonObject, JsonObject][])('%j with %j', (target, patch, expected) => {
    const before = JSON.stringify(target);
    expect(applyMergePatch(target, patch)).toEqual(expected);
    expect(JSON.stringify(target)).toBe(before);
  });

  it('a merge patch that is not an object is refused', () => {
    expect(() => applyMergePatch({}, JSON.parse('[]'))).toThrow(
      'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    );
    expect(() => applyMergePatch({}, JSON.parse('null'))).toThrow('Invalid JSON Patch');
  });

  it('a merge patch keeps keys with the names of prototypes as data', () => {
    const patched = applyMergePatch({}, JSON.parse('{"__proto__": {"polluted": 1}}'));
    expect(JSON.stringify(patched)).toBe('{"__proto__":{"polluted":1}}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
