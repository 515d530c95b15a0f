import { expect, test } from 'vitest';
import { isAlreadyExists, isConflict, isForbidden, isNotFound, KubeError } from './errors.ts';

const denied = (code: number, reason = '') =>
  new KubeError('admission webhook "guard.example" denied the request: not now', { code, reason });
const plain = (code: number, reason = '') => new KubeError('machines "m-0" not found', { code, reason });

test('the code of a denial by a webhook does not describe the object', () => {
  expect([isNotFound(denied(404)), isConflict(denied(409)), isAlreadyExists(denied(409, 'AlreadyExists'))]).toEqual([
    false,
    false,
    false,
  ]);
  expect([isNotFound(plain(404)), isConflict(plain(409)), isAlreadyExists(plain(409, 'AlreadyExists'))]).toEqual([
    true,
    true,
    true,
  ]);
  expect(isForbidden(denied(403))).toBe(true);
});
