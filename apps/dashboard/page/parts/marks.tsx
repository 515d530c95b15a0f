import type { ComponentChildren } from 'preact';
import type { Level } from '../../src/wire.ts';
import { LEVEL_NAMES } from '../format.ts';

/** The symbol of a level. The shapes differ, so that users can distinguish levels without colors. */
export const Shape = ({ level }: { level: Level }) => <span class={`shape ${level}`} aria-hidden="true" />;

export const Badge = ({ level, text = LEVEL_NAMES[level] }: { level: Level; text?: string | undefined }) => (
  <span class={`badge ${level}`}>
    <Shape level={level} />
    {text}
  </span>
);

/**
 * The number of characters at the end of a name that stay visible. The names of machines in one set differ only in
 * their ends.
 */
const TAIL = 12;

/** Shows a name in one line, without breaks at hyphens. If the name is too long, its middle is cut. */
export const Name = ({ children }: { children: string }) => (
  <span class="name" title={children}>
    <span>{children.slice(0, -TAIL)}</span>
    <span>{children.slice(-TAIL)}</span>
  </span>
);

/**
 * Shows a text, with each word that contains a hyphen in one line. Browsers break lines after hyphens, and broken names
 * are hard to read.
 */
export const Words = ({ children }: { children: string }) => {
  const parts: ComponentChildren[] = [''];
  for (const [index, word] of children.split(/(\s+)/).entries()) {
    if (word.includes('-') && word.length > 1)
      parts.push(
        <span key={index} class="word">
          {word}
        </span>,
        '',
      );
    else parts[parts.length - 1] += word;
  }
  return <>{parts}</>;
};

/** A bar that shows a part of a total. */
export const Meter = ({ part, whole, level, label }: { part: number; whole: number; level: Level; label: string }) => (
  <span class="meter" role="img" aria-label={label}>
    <span class={level} style={{ width: `${whole === 0 ? 100 : Math.min(100, (part / whole) * 100)}%` }} />
  </span>
);

export const Card = ({
  id,
  title,
  children,
  aside,
}: {
  id: string;
  title: string;
  children: ComponentChildren;
  aside?: ComponentChildren;
}) => (
  <section class="card" aria-labelledby={id}>
    <div class="card-head">
      <h2 id={id}>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
);
