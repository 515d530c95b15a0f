import { expect, test } from 'vitest';
import { shellPath } from './shell-path.ts';

test.each([
  ['/home/me/.mcm/kubeconfig', '.mcm/kubeconfig'],
  ['/tmp/data/kubeconfig', '/tmp/data/kubeconfig'],
  ['/home/me/my data/kubeconfig', "'my data/kubeconfig'"],
])('the path %s is the word %s of a shell command', (path, word) => {
  expect(shellPath(path, '/home/me')).toBe(word);
});
