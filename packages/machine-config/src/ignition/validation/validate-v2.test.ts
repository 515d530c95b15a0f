import { describe, expect, test } from 'vitest';
import { parseIgnition } from '../read.ts';
import { IgnitionError } from '../values/report.ts';

function problems(config: object, minor = 2): string {
  try {
    parseIgnition({ ...config, ignition: { ...(config as { ignition?: object }).ignition, version: `2.${minor}.0` } });
    return '';
  } catch (error) {
    if (!(error instanceof IgnitionError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`).join('\n') || error.message;
  }
}

const ext4 = { device: '/dev/a', format: 'ext4' };
const filesystem = (fields: object) => ({ storage: { filesystems: [{ name: 'x', ...fields }] } });
const disk = (...partitions: object[]) => ({ storage: { disks: [{ device: '/dev/a', partitions }] } });
const file = (fields: object) => ({ storage: { files: [{ filesystem: 'root', path: '/a', ...fields }] } });
const user = (fields: object) => ({ passwd: { users: [{ name: 'core', create: {}, ...fields }] } });

describe('a config of version 2 is validated by the rules of version 2', () => {
  test.each<[config: object, problem: string]>([
    [filesystem({}), 'filesystem is missing mount or path'],
    [filesystem({ mount: ext4, path: '/a' }), 'filesystem has both mount and path defined'],
    [filesystem({ path: 'a' }), 'path: path not absolute'],
    [filesystem({ mount: { ...ext4, format: 'ntfs' } }), 'invalid filesystem format'],
    [filesystem({ mount: { ...ext4, label: 'x'.repeat(17) } }), 'cannot be longer than 16 characters when using ext4'],
    [filesystem({ mount: { ...ext4, create: {}, wipeFilesystem: true } }), 'create object and wipeFilesystem'],
    [filesystem({ mount: { ...ext4, create: {}, options: ['-a'] } }), 'create object and mount-level options'],
    [disk({ number: 1 }, { number: 1, size: 1 }), 'partition numbers collide'],
    [disk({ start: 2048, size: 2048 }, { start: 2048, size: 1 }), 'partitions overlap'],
    [disk({ start: 10 }), 'partitions misaligned'],
    [disk({ label: 'x'.repeat(37) }), 'partition labels may not exceed 36 characters'],
    [disk({ guid: 'x' }), "guid: doesn't match the form"],
    [file({ contents: { source: 'gs://bucket/key' } }), 'contents.source: invalid url scheme'],
    [file({ contents: { verification: { hash: `sha256-${'b'.repeat(64)}` } } }), 'unrecognized hash function'],
    [{ ignition: { config: { append: [{ source: 'x' }] } } }, 'append.0.source: invalid url scheme'],
    [{ ignition: { config: { replace: { source: 'http://%zz' } } } }, 'replace.source: unable to parse url'],
    [
      { ignition: { security: { tls: { certificateAuthorities: [{ source: 'x' }] } } } },
      'certificateAuthorities.0.source: invalid url scheme',
    ],
    [{ networkd: { units: [{ name: 'a.service' }] } }, 'invalid networkd unit extension'],
    [{ networkd: { units: [{ name: 'a.link', dropins: [{ name: 'x' }] }] } }, 'invalid networkd drop-in extension'],
    [user({ uid: 0 }), 'the create object and the user-level uid field'],
    [user({ groups: ['a'] }), 'the create object and the user-level groups field'],
    [{ storage: { raid: [{ name: 'r', level: 'raid0', spares: 1 }] } }, 'spares unsupported'],
  ])('%j: %s', (config, problem) => {
    expect(problems(config)).toContain(problem);
  });

  test.each<[config: object]>([
    [filesystem({ mount: ext4 })],
    [disk({ start: 2048, size: 2048 }, { start: 4096 })],
    [disk({ start: 2048, size: 2048 }, { start: 2048, size: 2048 })],
    [file({ path: '//a/../b', contents: { source: 'oem:///x' } })],
    [file({ contents: { source: 's3://bucket/key' } })],
    [user({ groups: [], gecos: '' })],
    [{ networkd: { units: [{ name: 'a.netdev' }] } }],
  ])('%j is valid', (config) => {
    expect(problems(config)).toBe('');
  });

  test('fields of a later version are unknown to an older one, and fields that it required are written', () => {
    expect(problems(filesystem({ mount: { ...ext4, format: 'vfat' } }), 1)).toBe('');
    expect(problems(filesystem({ mount: { ...ext4, format: 'vfat' } }), 0)).toContain('invalid filesystem format');
    expect(problems(file({ contents: { source: 's3://bucket/key' } }), 0)).toContain('invalid url scheme');
    expect(problems(file({ append: true, overwrite: true }))).toContain('append and overwrite');
    expect(problems(file({ append: true, overwrite: 7 }), 1)).toBe('');
    const read = (minor: number) =>
      parseIgnition({ ...file({}), ignition: { version: `2.${minor}.0` } }).config.storage;
    const bare = { filesystem: 'root', path: '/a' };
    expect(read(2)).toEqual({ files: [bare] });
    expect(read(1)).toEqual({ files: [{ ...bare, mode: 0 }] });
    expect(read(0)).toEqual({ files: [{ ...bare, mode: 0, user: { id: 0 }, group: { id: 0 } }] });
  });
});

describe('a config of version 2 that its decoder refuses', () => {
  const spec = (version: string, config: object) => ({ ...config, ignition: { ...ignitionOf(config), version } });
  const ignitionOf = (config: object) => (config as { ignition?: object }).ignition ?? {};
  const errorOf = (version: string, config: object): IgnitionError => {
    try {
      parseIgnition(spec(version, config));
    } catch (error) {
      if (error instanceof IgnitionError) return error;
      throw error;
    }
    throw new Error('the config is valid');
  };
  const hash = (text: string) => file({ contents: { verification: { hash: text } } });
  const withFilesystemFiles = (fields: object, files: unknown) => ({
    storage: { ...file(fields).storage, filesystems: [{ files }] },
  });
  const UNKNOWN = /^parsing Ignition config failed: unknown version\. Supported spec versions: 2\.2,/;
  const RETRIED =
    /^parsing Ignition spec v2 failed with error: HandleParseErrors called with a valid config\nReport: $/;
  const REPORTED = /^parsing Ignition spec v2 failed with error: config is not valid\nReport: error at \$/;

  test.each<[version: string, config: object, path: string]>([
    ['2.0.0', file({ mode: '420' }), '$.storage.files.0.mode'],
    ['2.1.0', file({ mode: 420.5 }), '$.storage.files.0.mode'],
    ['2.2.0', file({ mode: '420' }), '$.storage.files.0.mode'],
    ['2.2.0', file({ overwrite: 7 }), '$.storage.files.0.overwrite'],
    ['2.1.0', { systemd: { units: [{ name: 'a.service', enabled: 7 }] } }, '$.systemd.units.0.enabled'],
    ['2.0.0', file({ mode: -1 }), '$.storage.files.0.mode'],
    ['2.0.0', file({ mode: 2 ** 32 }), '$.storage.files.0.mode'],
    ['2.0.0', file({ contents: { source: 'http://%zz' } }), '$.storage.files.0.contents.source'],
    ['2.0.0', hash('x'), '$.storage.files.0.contents.verification.hash'],
    ['2.0.0', { ignition: { config: { append: [{ source: '::' }] } } }, '$.ignition.config.append.0.source'],
    ['2.0.0', { ignition: { config: { replace: { source: '::' } } } }, '$.ignition.config.replace.source'],
    [
      '2.0.0',
      { ignition: { config: { append: [{ verification: { hash: 'x' } }] } } },
      '$.ignition.config.append.0.verification.hash',
    ],
    [
      '2.0.0',
      { ignition: { config: { replace: { verification: { hash: 'x' } } } } },
      '$.ignition.config.replace.verification.hash',
    ],
    ['2.2.0', withFilesystemFiles({ overwrite: 7 }, 'x'), '$.storage.files.0.overwrite'],
    ['2.2.0', withFilesystemFiles({ mode: 'x' }, [{ mode: 1 }]), '$.storage.files.0.mode'],
  ])('a refused config has an unknown version if an older decoder reads it: %s %j', (version, config, path) => {
    const error = errorOf(version, config);
    expect(error.message).toMatch(UNKNOWN);
    expect(error.issues.map((issue) => issue.path)).toEqual([path]);
  });

  test.each<[version: string, config: object]>([
    ['2.0.0', disk({ start: -2048 })],
    ['2.0.0', disk({ size: -1 })],
    ['2.0.0', { passwd: { groups: [{ name: 'g', gid: -1 }] } }],
    ['2.0.0', user({ create: { uid: -1 } })],
  ])('the error of a refused config names the retry if only a newer decoder reads it: %s %j', (version, config) => {
    expect(errorOf(version, config).message).toMatch(RETRIED);
  });

  test.each<[version: string, config: object]>([
    ['2.0.0', { storage: 7 }],
    ['2.2.0', disk({ start: 'x' })],
    ['2.2.0', { systemd: { units: [{ name: 7 }] } }],
    ['2.1.0', { passwd: { users: [{ create: { uid: 'x' } }] } }],
    ['2.2.0', withFilesystemFiles({ mode: 'x' }, 'x')],
    ['2.2.0', withFilesystemFiles({ mode: 'x' }, [{ mode: -1 }])],
  ])('the error of a refused config has a report if no decoder reads it: %s %j', (version, config) => {
    expect(errorOf(version, config).message).toMatch(REPORTED);
  });

  test.each<[version: string, config: object, message: string]>([
    ['2.1.0', file({ mode: -1 }), 'illegal file mode'],
    ['2.0.0', file({ mode: 0o10000 }), 'illegal file mode'],
    ['2.1.0', file({ contents: { source: 'http://%zz' } }), 'unable to parse url'],
    ['2.1.0', hash('x'), 'malformed hash specifier'],
    ['2.0.0', hash('md5-x'), 'unrecognized hash function'],
  ])('the error of a refused config differs from that of an invalid config: %s %j', (version, config, message) => {
    const error = errorOf(version, config);
    expect(error.message).toMatch(REPORTED);
    expect(error.message).toContain(message);
  });
});

describe('text after the name of a section', () => {
  const unit = (contents: string) => ({
    systemd: { units: [{ name: 'a.service', contents, dropins: [{ name: 'a.conf', contents }] }] },
    networkd: { units: [{ name: 'a.link', contents, dropins: [{ name: 'a.conf', contents }] }] },
  });

  test.each([0, 1, 2])('text after the name of a section appears as bytes in a report of version 2.%i', (minor) => {
    const found = problems(unit('[Unit] "é \nA=b'), minor).split('\n');
    expect(found.length).toBeGreaterThanOrEqual(3);
    for (const line of found)
      expect(line).toMatch(/: invalid unit content: found garbage after section name : \[34 195 169\]$/);
  });

  test('text after the name of a section appears quoted in a report of version 3', () => {
    const config = {
      ignition: { version: '3.5.0' },
      systemd: { units: [{ name: 'a.service', contents: '[Unit] x' }] },
    };
    expect(() => parseIgnition(config)).toThrow('found garbage after section name : "x"\n');
  });

  test('white space after the name of a section is space as Go counts it: U+0085 is space, the byte order mark is not', () => {
    const space = { systemd: { units: [{ name: 'a.service', contents: '[Unit]\u0085\u00a0\n\u0085\nA=b' }] } };
    const mark = { systemd: { units: [{ name: 'a.service', contents: '[Unit]\ufeff\nA=b' }] } };
    expect(problems(space)).toBe('');
    expect(problems(mark)).toContain('found garbage after section name : [239 187 191]');
  });
});
