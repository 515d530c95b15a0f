import { describe, expect, test } from 'vitest';
import { parseIgnition } from '../read.ts';
import { toIgnitionVersion } from '../to-version.ts';
import { parseGoUrl, queryValues } from '../values/go-url.ts';
import { IgnitionError } from '../values/report.ts';

function problems(minor: number, config: object): string {
  try {
    parseIgnition({ ...config, ignition: { ...(config as { ignition?: object }).ignition, version: `3.${minor}.0` } });
    return '';
  } catch (error) {
    if (!(error instanceof IgnitionError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`).join('\n') || error.message;
  }
}

const file = (source: string, more: object = {}) => ({
  storage: { files: [{ path: '/a', contents: { source, ...more } }] },
});
const luks = (clevis: object) => ({ storage: { luks: [{ name: 'l', device: '/dev/a', clevis }] } });
const SHA256 = { verification: { hash: `sha256-${'b'.repeat(64)}` } };
const TANG = { tang: [{ url: 'http://t', thumbprint: 'x' }] };

describe('a config is validated by the rules of its own version', () => {
  test.each<[what: string, since: number, config: object]>([
    ['sha256', 1, file('data:,x', SHA256)],
    ['gs', 2, file('gs://bucket/key')],
    ['arn', 4, file('arn:aws:s3:::bucket/key')],
    ['a filesystem of no format', 3, { storage: { filesystems: [{ device: '/dev/a', format: 'none' }] } }],
  ])('%s is valid since 3.%i', (_what, since, config) => {
    const verdicts = [0, 1, 2, 3, 4, 5].map((minor) => problems(minor, config) === '');
    expect(verdicts).toEqual([0, 1, 2, 3, 4, 5].map((minor) => minor >= since));
  });

  test.each<[what: string, until: number, config: object]>([
    ['a link without a target', 2, { storage: { links: [{ path: '/a' }] } }],
    ['an S3 version that is empty', 3, file('s3://bucket/key?versionId=')],
    ['a merged config without a source', 0, { ignition: { config: { merge: [{}] } } }],
    [
      'a hash of nothing beside a file',
      0,
      { ignition: { config: { replace: { verification: { hash: `sha512-${'a'.repeat(128)}` } } } } },
    ],
  ])('%s is valid until 3.%i', (_what, until, config) => {
    const verdicts = [0, 1, 2, 3, 4, 5].map((minor) => problems(minor, config) === '');
    expect(verdicts).toEqual([0, 1, 2, 3, 4, 5].map((minor) => minor <= until));
  });

  test('fields of a later version are unknown to an older one, with any value', () => {
    expect(problems(2, { kernelArguments: 7 })).toBe('');
    expect(problems(3, { kernelArguments: 7 })).toContain('$.kernelArguments');
    expect(problems(1, { storage: { LUKS: [7] } })).toBe('');
  });

  test('each version validates custom clevis with other pins, and a pin without a name, by its own rules', () => {
    expect(problems(2, luks({ ...TANG, custom: {} }))).toContain('cannot use custom clevis config');
    expect(problems(3, luks({ ...TANG, custom: {} }))).toBe('');
    expect(problems(2, luks({ custom: { needsNetwork: true } }))).toBe('');
    expect(problems(3, luks({ custom: { needsNetwork: true } }))).toContain('missing required custom clevis pin');
  });

  test('texts that were required before 3.3 are written, a partition of number 0 is not', () => {
    const config = {
      storage: { links: [{ path: '/a' }], disks: [{ device: '/d', partitions: [{ number: 0, label: 'x' }] }] },
    };
    expect(parseIgnition({ ...config, ignition: { version: '3.2.0' } }).config.storage).toEqual({
      links: [{ path: '/a', target: '' }],
      disks: [{ device: '/d', partitions: [{ label: 'x' }] }],
    });
  });

  test('build metadata makes another version', () => {
    expect(() => parseIgnition({ ignition: { version: '3.5.0+x' } })).toThrow('unknown version');
  });

  test('a version that does not support a value is not served', () => {
    const config = { ...file('gs://bucket/key'), ignition: { version: '3.5.0' } };
    expect(toIgnitionVersion(config, '3.2.0')).toMatchObject({ ignition: { version: '3.2.0' } });
    expect(() => toIgnitionVersion(config, '3.1.0')).toThrow('invalid url scheme');
  });
});

describe('URLs are parsed as in Go', () => {
  test.each([
    ['http://h/a b', 'http'],
    ['http://h/%zz', undefined],
    ['http://h/x?y=%zz', 'http'],
    ['http://h/x#%zz', undefined],
    ['http://h:port/x', undefined],
    ['http://h:80/x', 'http'],
    ['http://[::1]:80/x', 'http'],
    ['http://[::1/x', undefined],
    ['http://us%20er@h/x', 'http'],
    ['http://us er@h/x', undefined],
    ['http://h%41/x', undefined],
    ['http://h{/x', undefined],
    ['HTTP://h', 'http'],
    ['1x://h', undefined],
    ['x_y://h', undefined],
    ['///a', ''],
    ['a/b:c', ''],
    ['a:b', 'a'],
    ['a\u0001', undefined],
  ])('%s', (url, scheme) => {
    expect(parseGoUrl(url)?.scheme).toBe(scheme);
  });

  test('a URL returns the values of its query without the invalid ones, as in Go', () => {
    expect(queryValues('v=1&v&w=2&v=%zz&v=3;4&v=5', 'v')).toEqual(['1', '', '5']);
  });
});
