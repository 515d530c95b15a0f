import { describe, expect, it } from 'vitest';
import { nodeOf } from '../model/node.ts';
import { compileCel } from './compile.ts';
import { CelRuntimeError, toCel } from './runtime/values.ts';
import { DYN, typeOfNode } from './types/types.ts';

const node = nodeOf({
  type: 'object',
  properties: {
    name: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    limits: { type: 'object', additionalProperties: { type: 'string' } },
    since: { type: 'string', format: 'date-time' },
    'dash-ed': { type: 'string' },
    in: { type: 'string' },
  },
});
const data = {
  name: 'web-1',
  count: 3,
  ratio: 2,
  tags: ['b', 'a'],
  sizes: [1, 2, 3],
  limits: { cpu: '1', memory: '2Gi' },
  since: '2024-05-06T07:08:09Z',
  'dash-ed': 'd',
  in: 'i',
};
const any = { x: 1, y: [1.5, 'z'] };
const declarations = [
  { name: 'self', type: typeOfNode(node, 'self', false), node },
  { name: 'any', type: DYN },
];
const run = (source: string): unknown =>
  compileCel(source, declarations).run([toCel(data, node), toCel(any, undefined)]);

describe('valid expressions', () => {
  it.each([
    "self.name == 'web-1' && self.count + 1 == 4",
    'self.ratio == 2.0 && self.count < 3.5',
    '1 / 2 == 0 && 7 % 4 == 3 && -7 / 2 == -3',
    'self.tags.exists(t, t == "a") && !self.tags.all(t, t == "a")',
    'self.sizes.map(s, s * 2) == [2, 4, 6] && self.sizes.filter(s, s > 1).size() == 2',
    'self.sizes.map(s, s > 1, s * 10) == [20, 30] && self.tags.exists_one(t, t == "b")',
    'self.tags.all(i, t, i < 2 && size(t) == 1) && self.sizes.transformList(i, s, i + s) == [1, 3, 5]',
    '"cpu" in self.limits && !("disk" in self.limits) && self.limits["cpu"] == "1"',
    'self.limits.all(k, quantity(self.limits[k]).isLessThan(quantity("3Gi")))',
    'has(self.name) && !has(any.nothing) && any.y[1] == "z" && any.x == 1',
    'any.?x.hasValue() && self.limits[?"disk"].orValue("none") == "none"',
    'optional.of(1).optMap(v, v + 1).value() == 2 && !optional.none().hasValue()',
    'self.since < timestamp("2025-01-01T00:00:00Z") && self.since.getFullYear() == 2024',
    'duration("1h30m") > duration("89m") && duration("90s").getSeconds() == 90',
    'self.dash__dash__ed == "d" && self.__in__ == "i"',
    'self.sizes.reverse() == [3, 2, 1] && self.tags.sort() == ["a", "b"] && [1, 2, 1].distinct() == [1, 2]',
    'self.sizes.sortBy(s, -s).slice(0, 2) == [3, 2] && [[1], [2]].flatten() == lists.range(3).filter(i, i > 0)',
    '["b", "a"].sortBy(t, t)[0] == "a"',
    '"Ab".lowerAscii() == "ab" && "abc".substring(1, 2) == "b" && "a,b".split(",").join("+") == "a+b"',
    '"%s has %d".format([self.name, self.count]) == "web-1 has 3"',
    'self.name.matches("^[a-z]+-[0-9]$") && self.name.find("[0-9]") == "1" && "a1b2".findAll("[0-9]") == ["1", "2"]',
    '[3, 1, 2].max() == 3 && [3, 1].min() == 1 && [1, 2].sum() == 3 && [1, 2].isSorted() && [1, 2, 1].lastIndexOf(1) == 2',
    'sets.contains([1, 2], [2]) && sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1], [1, 2])',
    'url("https://u.example:8443/p?q=1").getHost() == "u.example:8443" && url("https://h/p?q=1").getQuery()["q"] == ["1"]',
    'isURL("https://a") && !isURL("::") && url("https://[::1]:80/").getHostname() == "::1"',
    'ip("192.168.0.1").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3") && !isIP("10.1") && ip("::1").isLoopback()',
    'cidr("192.168.0.0/16").containsCIDR("192.168.1.0/24") && string(cidr("10.1.2.3/8").masked()) == "10.0.0.0/8"',
    'quantity("1.5Gi").add(quantity("0.5Gi")) == quantity("2Gi") && quantity("50m").sign() == 1 && isQuantity("1Ki") && !isQuantity("1x")',
    '!format.dns1123Label().validate("web-1").hasValue() && format.dns1123Label().validate("Web").hasValue()',
    'semver("1.2.3").isLessThan(semver("1.10.0")) && isSemver("1.0.0-rc.1") && semver("v1.2", true).minor() == 2',
    'type(self.count) == int && type("") == string && int("12") == 12 && string(true) == "true"',
    'true ? 1 == 1 : false',
    '(1 / 0 > 0) || true',
    '!(false && 1 / 0 > 0)',
    'r"\\d" == "\\\\d" && b"abc" == bytes("abc") && "\\u00e9" == "é"',
    '{"a": 1, ?"b": optional.none()} == {"a": 1} && [1, ?optional.of(2)] == [1, 2]',
    '9223372036854775807 > 9223372036854775806',
  ])('%s', (source) => {
    expect(run(source)).toBe(true);
  });
});

describe('expressions that do not compile', () => {
  it.each([
    ['self.nothing > 1', "ERROR: <input>:1:5: undefined field 'nothing'\n | self.nothing > 1\n | ....^"],
    [
      'self.name.x',
      "ERROR: <input>:1:10: type 'string' does not support field selection\n | self.name.x\n | .........^",
    ],
    ['other == 1', "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')\n | other == 1\n | ^"],
    [
      'self.name + 1',
      "ERROR: <input>:1:11: found no matching overload for '_+_' applied to '(string, int)'\n | self.name + 1\n | ..........^",
    ],
    ...['null == self.name', 'null == self.limits'].map((source) => [
      source,
      "no matching overload for '_==_' applied to '(null, ",
    ]),
    [
      'self.name.nope()',
      "ERROR: <input>:1:15: undeclared reference to 'nope' (in container '')\n | self.name.nope()\n | ..............^",
    ],
    [
      'self.tags.all(t, t > 1)',
      "ERROR: <input>:1:20: found no matching overload for '_>_' applied to '(string, int)'\n | self.tags.all(t, t > 1)\n | ...................^",
    ],
    [
      'size(self.count)',
      "ERROR: <input>:1:5: found no matching overload for 'size' applied to '(int)'\n | size(self.count)\n | ....^",
    ],
  ])('%s', (source, expected) => {
    expect(() => compileCel(source, declarations)).toThrow(expected);
  });

  it.each(['self ==', 'self.name ==== 1', '(', '"open', '1 +', 'a ? b', '[1, 2', '#', ''])(
    '%j is a syntax error',
    (source) => {
      expect(() => compileCel(source, declarations)).toThrow(/Syntax error/);
    },
  );

  it('deeply nested expressions are refused', () => {
    expect(() => compileCel(`${'('.repeat(5000)}1${')'.repeat(5000)}`, declarations)).toThrow(/recursion limit/);
    expect(() => compileCel(`${'!'.repeat(5000)}true`, declarations)).toThrow(/recursion limit/);
  });
});

describe('running', () => {
  it.each([
    ['1 / 0 == 1', /division by zero/],
    ['self.limits["disk"] == ""', /no such key: disk/],
    ['self.tags[5] == ""', /index out of bounds: 5/],
    ['9223372036854775807 + 1 > 0', /integer overflow/],
    ['quantity("x") == quantity("1")', /quantities must match/],
    ['any.x.contains("a")', /no such overload/],
  ])('%s fails', (source, expected) => {
    expect(() => run(source)).toThrow(expected);
  });

  it('stops expensive loops', () => {
    const list = `[${Array.from({ length: 60 }, (_, i) => i).join(',')}]`;
    const source = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`;
    expect(() => run(source)).toThrow(/actual cost limit exceeded/);
  });

  it('reports the used variables', () => {
    const both = [...declarations, { ...declarations[0], name: 'oldSelf' }] as typeof declarations;
    expect(compileCel('self.name == oldSelf.name', both).uses).toEqual(new Set(['self', 'oldSelf']));
    expect(compileCel('[1].all(oldSelf, oldSelf > 0)', both).uses.has('self')).toBe(false);
  });
});

it.each([
  ['object.', 8, '.'],
  ['object. + 1', 9, '. +'],
  ['object.x.', 10, '.'],
  ['[1].', 5, '.'],
  ['size(object.)', 13, '.)'],
])('%s lacks a field', (source, column, read) => {
  const why = `ERROR: <input>:1:${column}: Syntax error: no viable alternative at input '${read}'`;
  expect(() => compileCel(source, [{ name: 'object', type: DYN }])).toThrow(why);
});

describe('errors for values that a function does not support', () => {
  it.each([
    ['string(dyn({}))', 'no such overload: string(map)'],
    ['int(dyn(null))', 'no such overload: int(null_type)'],
    ['dyn({}) + dyn({})', 'no such overload: _+_'],
    ['dyn("a") + dyn(1)', 'no such overload'],
    ['dyn([1]) < dyn([2])', 'no such overload: _<_'],
    ['size(dyn(5))', 'no such overload: size'],
    ['dyn(5).startsWith("a")', 'no such overload'],
    ['dyn(5).map(x, x)', "got 'types.Int', expected iterable type"],
  ])('%s: %s', (expression, message) => {
    expect(() => run(expression)).toThrow(new CelRuntimeError(message));
  });
});

describe('positions and texts of syntax errors', () => {
  it.each([
    ['has(self)', 'ERROR: <input>:1:5: invalid argument to has() macro'],
    ['self.tags.map(x.a, 1) == []', 'ERROR: <input>:1:16: argument is not an identifier'],
    ['self.tags.all(x.a, true)', 'ERROR: <input>:1:16: argument must be a simple name'],
    ['true || self.count', "ERROR: <input>:1:13: expected type 'bool' but found 'int'"],
    ['self.tags.all(x, 1)', "ERROR: <input>:1:18: expected type 'bool' but found 'int'"],
    [
      'self.tags.filter(x, 1) == []',
      "ERROR: <input>:1:17: found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'",
    ],
    [
      'self.tags.exists_one(x, 1)',
      "ERROR: <input>:1:21: found no matching overload for '_?_:_' applied to '(int, int, int)'",
    ],
  ])('%s', (source, message) => {
    expect(() => compileCel(source, declarations)).toThrow(message);
  });
});
