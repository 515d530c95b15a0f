import { expect, test } from 'vitest';
import { Findings } from './findings.ts';
import { webhookUrlFindings } from './webhook-client.ts';

test.each<[url: string, ...problems: string[]]>([
  ['https://h/x'],
  ['HTTPS://h:1/X'],
  ['https://[::1]:8/x'],
  ['http://h', "'https' is the only allowed URL scheme; desired format: https://host[/path]"],
  ['https:///x', 'host must be specified; desired format: https://host[/path]'],
  ['https://u@h', 'user information is not permitted in the URL'],
  ['https://h#f', 'fragments are not permitted in the URL'],
  ['https://h/?q', 'query parameters are not permitted in the URL'],
  ['https://h/?#'],
  ['https://a b', 'invalid character " " in host name'],
  ['https://h:x', 'invalid port ":x" after host'],
  ['https://h/%zz', 'invalid URL escape "%zz"'],
  ['https://[::1', "missing ']' in host"],
  [' https://h', 'first path segment in URL cannot contain colon'],
  [':h', 'missing protocol scheme'],
  ['https://h/\n', 'net/url: invalid control character in URL'],
  ['https://u^@h', 'net/url: invalid userinfo'],
])('the URL %j of a webhook is accepted, or refused with the texts of Go', (url, ...problems) => {
  const findings = new Findings();
  webhookUrlFindings(findings, url, 'url');
  expect(findings.causes).toHaveLength(problems.length);
  for (const [index, problem] of problems.entries()) expect(findings.causes[index]?.message).toContain(problem);
});
