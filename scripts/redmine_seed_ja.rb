# frozen_string_literal: true

# Fills an empty Redmine (migrated, with its Japanese default data) with a second world: names are written last name
# first, logins are numbers, people share a name, roles are narrow, modules are off, files are not in UTF-8.
# Run by `rails runner` as redmine_seed.rb is; the ids and keys of what it made go as JSON to the file $SEED_OUT.
require 'json'
require 'stringio'
require 'zlib'

abort 'This Redmine is not empty.' if Project.exists?

ActiveRecord::Base.logger = nil
ActionMailer::Base.perform_deliveries = false
User.anonymous

{ 'rest_api_enabled' => '1', 'default_language' => 'ja', 'user_format' => 'lastname_firstname',
  'text_formatting' => 'markdown', 'host_name' => 'redmine-ja.example.test', 'notified_events' => [],
  'issue_group_assignment' => '1', 'attachment_max_size' => '10240',
  'default_users_time_zone' => 'Tokyo' }.each { |name, value| Setting[name] = value }

ids = Hash.new { |all, kind| all[kind] = {} }
keys = {}

# Users: the login "5" is another person than the user of id 5, and two people are called 田中 健

api_key = lambda do |user, letter|
  token = Token.create!(user: user, action: 'api')
  Token.where(id: token.id).update_all(value: letter * 40)
  keys[user.login] = letter * 40
end
person = lambda do |login, last, first, letter, status = User::STATUS_ACTIVE|
  user = User.new(firstname: first, lastname: last, mail: "#{login}@example.test", language: 'ja',
                  mail_notification: 'none')
  user.login = login
  user.password = user.password_confirmation = "#{login}-lab-pass"
  user.status = status
  user.save!
  user.pref.update!(time_zone: 'Tokyo')
  api_key.call(user, letter)
  user
end
admin = User.find_by!(login: 'admin')
admin.password = admin.password_confirmation = 'admin-lab-pass'
admin.must_change_passwd = false
admin.language = 'ja'
admin.save!(validate: false)
admin.pref.update!(time_zone: 'Tokyo')
api_key.call(admin, 'a')
taro = person.call('sato.taro', '佐藤', '太郎', 'b')
ichiro = person.call('0007', '鈴木', '一郎', 'c')
hanako = person.call('sato.hanako', '佐藤', '花子', 'd')
jiro = person.call('5', '高橋', '次郎', 'e')
misaki = person.call('8001', '田中', '美咲', 'f')
ken1 = person.call('tanaka1', '田中', '健', '1')
ken2 = person.call('tanaka2', '田中', '健', '2')
partner = person.call('partner', '山本', '誠', '3')
desk = person.call('desk', '中村', '窓', '4')
viewer = person.call('viewer', '見学', '者', '5')
retired = person.call('kobayashi', '小林', '退', '6')
outsider = person.call('gaibu', '外山', '部', '7')
person.call('watanabe', '渡邊', 'ワタル', '8')
team = Group.create!(lastname: '開発チーム')
team.users << ken1 << ken2
User.logged.each { |user| ids['users'][user.login] = user.id }
ids['groups'][team.lastname] = team.id

# Trackers and roles: 協力会社 may add サポート only, 受付 too and may not edit

bug, feature, support = Tracker.sorted.to_a
task = Tracker.new(name: 'タスク', default_status: bug.default_status,
                   core_fields: Tracker::CORE_FIELDS - %w[category_id fixed_version_id estimated_hours])
task.copy_workflow_rules(bug) if task.save!
trackers = [bug, feature, support, task]
role = Role.givable.index_by(&:name)
narrow = lambda do |name, permissions|
  one = Role.new(name: name, permissions: permissions, issues_visibility: 'default')
  one.set_permission_trackers(:add_issues, [support.id]) if permissions.include?(:add_issues)
  one.save!
  one.copy_workflow_rules(role['報告者'])
  role[name] = one
end
reading = %i[view_issues view_wiki_pages view_files view_news]
narrow.call('協力会社', reading + %i[add_issues edit_issues add_issue_notes edit_own_issue_notes])
narrow.call('受付', reading + %i[add_issues add_issue_notes])
narrow.call('閲覧者', reading)
role['閲覧者'].update!(assignable: false)
role['開発者'].add_permission!(:edit_own_issue_notes, :delete_wiki_pages_attachments, :manage_files)
role['管理者'].add_permission!(:edit_issue_notes, :manage_news)

# Projects

modules = Redmine::AccessControl.available_project_modules.map(&:to_s)
project = lambda do |identifier, name, **more|
  one = Project.new(name: name, enabled_module_names: modules, trackers: trackers, **more)
  one.identifier = identifier
  one.save!
  ids['projects'][identifier] = one.id
end
project.call('hanbai', '販売管理システム', description: '受注から請求までの *基幹* システム。')
project.call('hanbai-mobile', '販売管理モバイル', enabled_module_names: %w[issue_tracking], inherit_members: true)
project.call('keiri', '経理', is_public: false, trackers: [bug, feature], enabled_module_names: %w[issue_tracking])
project.call('koho', '広報', enabled_module_names: %w[wiki news], trackers: [support])
project.call('furui', '旧システム')
at = ->(identifier) { Project.find_by!(identifier: identifier) }
at.call('hanbai-mobile').set_parent!(at.call('hanbai'))
[['hanbai', taro, '管理者'], ['hanbai', ichiro, '開発者'], ['hanbai', hanako, '開発者'], ['hanbai', jiro, '開発者'],
 ['hanbai', misaki, '報告者'], ['hanbai', team, '開発者'], ['hanbai', partner, '協力会社'], ['hanbai', desk, '受付'],
 ['hanbai', viewer, '閲覧者'], ['hanbai', retired, '開発者'], ['keiri', taro, '管理者'], ['keiri', misaki, '報告者'],
 ['koho', hanako, '管理者'], ['furui', ichiro, '開発者']].each do |where, who, as|
  Member.create!(project: at.call(where), principal: who, roles: [role[as]])
end
retired.update_columns(status: User::STATUS_LOCKED)
hanbai, mobile, keiri, koho, furui = %w[hanbai hanbai-mobile keiri koho furui].map(&at)

# Custom fields: every format, some for one tracker or one project, some no filter

field = lambda do |name, format, on: trackers, **more|
  options = { is_for_all: true, is_filter: true, trackers: on }.merge(more)
  one = IssueCustomField.create!(name: name, field_format: format, **options)
  ids['custom_fields'][name] = one.id
  one
end
customer = field.call('顧客名', 'string', searchable: true)
steps = field.call('再現手順', 'text')
environment = field.call('発生環境', 'list', possible_values: %w[本番 検証 開発])
areas = field.call('影響範囲', 'list', possible_values: %w[受注 在庫 請求], multiple: true)
reviewer = field.call('レビュー担当', 'user')
testers = field.call('テスト担当', 'user', multiple: true)
promised = field.call('約束日', 'date')
points = field.call('ポイント', 'int')
factor = field.call('係数', 'float')
again = field.call('再発', 'bool')
link = field.call('参照先', 'link')
found_in = field.call('発見バージョン', 'version')
severity = field.call('重大度', 'enumeration')
picture = field.call('画面', 'attachment')
contract = field.call('契約番号', 'string', visible: false, role_ids: [role['管理者'].id])
department = field.call('部署', 'string', is_for_all: false, projects: [keiri])
reception = field.call('受付区分', 'enumeration', on: [support])
secret = field.call('社外秘', 'bool', is_filter: false)
approver = field.call('承認者', 'user', is_filter: false)
fatal, serious, slight = %w[致命的 重大 軽微].map { |name| severity.enumerations.create!(name: name) }
phone, mail = %w[電話 メール].map { |name| reception.enumerations.create!(name: name) }

# Versions ("3" is not the one of id 3), categories, an activity that the project has switched off

version = lambda do |where, name, **more|
  one = Version.create!(project: where, name: name, **more)
  ids['versions'][name] = one.id
  one
end
v1 = version.call(hanbai, '1.0', effective_date: '2030-01-31')
locked_version = version.call(hanbai, '1.1')
closed_version = version.call(hanbai, '0.9')
version.call(hanbai, '3', sharing: 'descendants')
orders = IssueCategory.create!(project: hanbai, name: '受注', assigned_to: taro)
stock = IssueCategory.create!(project: hanbai, name: '在庫')
ids['issue_categories'] = { '受注' => orders.id, '在庫' => stock.id }
design, development = TimeEntryActivity.shared.active.order(:position).to_a
TimeEntryActivity.create!(name: design.name, project: hanbai, parent: design, active: false)

# Files that are not in UTF-8, and a picture of 3000 by 2000

Upload = Struct.new(:original_filename, :content_type, :bytes) do
  def io = @io ||= StringIO.new(bytes.b)
  def read(*args) = io.read(*args)
  def size = io.size
end
file = lambda do |name, type, bytes, **more|
  one = Attachment.create!(author: taro, file: Upload.new(name, type, bytes), **more)
  ids['attachments'][one.filename] ||= one.id
  one
end
def png(width, height)
  chunk = ->(name, data) { [data.bytesize].pack('N') + name + data + [Zlib.crc32(name + data)].pack('N') }
  noise = 12_345
  rows = (0...height).map do |y|
    line = (0...width).map { |x| (x / 12 + y / 8) % 256 }
    line = line.map { noise = (noise * 1_103_515_245 + 12_345) % 2_147_483_648; noise >> 16 & 255 } if y % 125 == 0
    "\0".b + line.pack('C*')
  end
  header = [width, height, 8, 0, 0, 0, 0].pack('NNCCCCC')
  "\x89PNG\r\n\x1A\n".b + chunk.call('IHDR', header) + chunk.call('IDAT', Zlib.deflate(rows.join, 9)) + chunk.call('IEND', '')
end
CSV_TEXT = "受注番号,顧客名,金額\r\n1001,株式会社髙島,12000\r\n1002,㈱ソラ～,3400\r\n"

# Issues

status = IssueStatus.sorted.index_by(&:name)
fresh, working, solved, feedback, closed, rejected = IssueStatus.sorted.to_a
low, normal, high, urgent, now = IssuePriority.sorted.to_a
issue = lambda do |key, tracker, subject, where: hanbai, author: taro, fields: {}, **more|
  User.current = author
  one = Issue.new(project: where, tracker: tracker, subject: subject, author: author, status: fresh, priority: normal)
  one.attributes = more
  one.custom_field_values = fields.to_h { |custom, value| [custom.id.to_s, value] }
  one.save!
  ids['issues'][key] = one.id if key
  one
end
main = issue.call(
  'main', bug, '受注登録でエラーになる', author: misaki, priority: high, category: orders, fixed_version: v1,
  assigned_to: ichiro, start_date: '2026-09-02', due_date: '2026-10-30', estimated_hours: 8, done_ratio: 40,
  description: "## 現象\r\n\r\n**髙島様** の受注で ``500`` になる。",
  fields: { customer => '株式会社髙島', steps => "受注画面を開く\n登録を押す", environment => '本番', areas => %w[受注 請求],
            reviewer => taro.id.to_s, testers => [hanako.id.to_s, jiro.id.to_s], promised => '2026-11-20', points => '5',
            factor => '1.5', again => '1', link => 'https://wiki.example.test/受注', found_in => v1.id.to_s,
            severity => fatal.id.to_s, contract => 'K-100', secret => '1', approver => hanako.id.to_s,
            picture => { token: file.call('画面.png', 'image/png', png(40, 20)).token } }
)
parent = issue.call('parent', feature, '請求書の電子化', author: taro, fixed_version: v1)
child = issue.call('child', feature, '請求書PDFの出力', author: taro, parent_issue_id: parent.id.to_s, assigned_to: hanako,
                   estimated_hours: 12, due_date: '2026-12-18', start_date: '2026-11-02')
issue.call('done child', feature, '請求書の様式を決める', author: taro, parent_issue_id: parent.id.to_s, assigned_to: jiro,
           status: closed, done_ratio: 100)
blocking = issue.call('blocking', task, '税率表の確定', author: taro, assigned_to: ken1)
blocked = issue.call('blocked', feature, '税計算の変更', author: taro, assigned_to: ichiro, fixed_version: v1)
issue.call('private', bug, '取引先の信用情報', author: taro, assigned_to: taro, is_private: true)
issue.call('of the team', task, '検証環境の更新', author: taro, assigned_to: team)
issue.call('support', support, '請求書が届かない', author: partner, fields: { reception => phone.id.to_s, customer => '㈱ソラ' })
issue.call('in mobile', bug, 'モバイルで文字化けする', where: mobile, author: misaki, assigned_to: jiro, priority: now)
issue.call('in keiri', bug, '決算の数字が合わない', where: keiri, author: taro, assigned_to: misaki, fields: { department => '経理部' })
issue.call('unassigned', support, '画面の色を変えたい', author: misaki)
issue.call('by retired', task, '移行手順の整理', author: retired, fixed_version: nil)
issue.call('closed', bug, '旧ロゴが残っている', author: misaki, assigned_to: hanako, fixed_version: closed_version, status: closed)
issue.call('in furui', bug, '印刷がずれる', where: furui, author: ichiro)
issue.call('one kanji', bug, '税 区分の誤り', author: misaki, assigned_to: jiro)
Issue.transaction do
  40.times do |n|
    issue.call(n == 0 ? 'first of many' : nil, trackers[n % 4], format('定例課題 %02d', n + 1), author: [taro, misaki, hanako][n % 3],
               status: n % 5 == 4 ? closed : n % 5 == 3 ? working : fresh, priority: [low, normal, high][n % 3],
               assigned_to: [ichiro, hanako, jiro, nil][n % 4], due_date: (Date.new(2026, 11, 1) + n).to_s,
               start_date: '2026-10-01', estimated_hours: n % 4 == 3 ? nil : n % 9 + 1,
               fields: { reviewer => [taro, ichiro][n % 2].id.to_s, points => (n % 8).to_s, again => (n % 2).to_s,
                         severity => [fatal, serious, slight][n % 3].id.to_s, promised => (Date.new(2026, 12, 1) + n).to_s,
                         factor => (n / 2.0).to_s })
  end
end
relation = ->(key, **more) { ids['relations'][key] = IssueRelation.create!(**more).id }
relation.call('blocks', issue_from: blocking, issue_to: blocked, relation_type: 'blocks')
relation.call('relates', issue_from: main, issue_to: child, relation_type: 'relates')

note = lambda do |one, user, text, attached: nil, private_notes: false, **changes|
  again_read = Issue.find(one.id)
  User.current = user
  again_read.init_journal(user, text)
  again_read.private_notes = private_notes
  again_read.attachments << attached if attached
  again_read.attributes = changes
  again_read.save!
end
note.call(main, ichiro, '再現しました。', status: working)
note.call(main, taro, '', custom_field_values: { reviewer.id.to_s => ichiro.id.to_s, severity.id.to_s => serious.id.to_s,
                                                 again.id.to_s => '0', found_in.id.to_s => closed_version.id.to_s })
note.call(main, taro, '先方には日程を伝えないこと。', private_notes: true)
note.call(main, hanako, '一覧です。', attached: file.call('受注一覧.csv', 'text/csv', CSV_TEXT.encode('CP932'), author: hanako))
note.call(main, hanako, '', attached: file.call('ログ.txt', 'text/plain', "\uFEFF起動\r\n異常終了\r\n".encode('UTF-16LE'), author: hanako))
note.call(main, hanako, '', attached: file.call('メモ.txt', 'text/plain', "電話で確認済み。\n".encode('EUC-JP'), author: hanako))
note.call(main, hanako, '大きな図', attached: file.call('構成図.png', 'image/png', png(3000, 2000), author: hanako))
note.call(parent, jiro, '担当を替えます。', assigned_to: retired.reload && hanako)

# Time, wiki, news, files

20.times do |n|
  who = [ichiro, hanako, jiro][n % 3]
  User.current = who
  TimeEntry.create!(project: hanbai, issue: [main, child, nil][n % 3], user: who, author: who, activity: development,
                    hours: 0.5 * (n % 6 + 1), spent_on: Date.new(2026, 10, 1) + n, comments: ['調査', '修正', '打ち合わせ'][n % 3])
end
page = lambda do |title, text, above = nil|
  one = WikiPage.new(wiki: hanbai.wiki, title: title, parent: above)
  one.content = WikiContent.new(page: one, text: text, author: taro, comments: '作成')
  one.save!
  ids['wiki_pages'][one.title] = one.id
  one
end
home = page.call('Wiki', "# 目次\r\n\r\n* [[リリースノート_14]]")
page.call('リリースノート 1.4', "# 1.4\r\n\r\n税率を変更。", home)
page.call('運用手順', '毎朝の確認。', home)
2.times do |n|
  one = News.create!(project: hanbai, author: taro, title: "お知らせ #{n + 1}", summary: '概要', description: '本文です。')
  ids['news'][(n + 1).to_s] = one.id
end
file.call('手順書.txt', 'text/plain', "手順\n", container: hanbai, description: '導入手順')

locked_version.update!(status: 'locked')
closed_version.update!(status: 'closed')
furui.reload.close

# Fixed times

START = Time.utc(2026, 9, 1, 0)
def at_fixed_times(model, *columns, from: START, step: 1.hour)
  model.unscoped.pluck(:id).each do |id|
    model.unscoped.where(id: id).update_all(columns.to_h { |column| [column, from + id * step] })
  end
end
ActiveRecord::Base.transaction do
  [Project, Issue, Version, TimeEntry, EmailAddress].each { |model| at_fixed_times(model, :created_on, :updated_on) }
  at_fixed_times(Principal, :created_on, :updated_on)
  at_fixed_times(Token, :created_on, :updated_on)
  [Member, WikiPage, News, Attachment].each { |model| at_fixed_times(model, :created_on) }
  at_fixed_times(WikiContent, :updated_on, from: START + 1.day)
  at_fixed_times(WikiContentVersion, :updated_on)
  at_fixed_times(Journal, :created_on, from: START + 10.days)
  User.where.not(passwd_changed_on: nil).update_all(passwd_changed_on: START)
  Setting.update_all(updated_on: START)
  Journal.group(:journalized_id).maximum(:created_on).each { |id, last| Issue.where(id: id).update_all(updated_on: last) }
  Issue.where.not(closed_on: nil).each { |one| one.update_columns(closed_on: one.updated_on) }
end

ids['trackers'] = trackers.to_h { |one| [one.name, one.id] }
ids['statuses'] = status.transform_values(&:id)
ids['activities'] = { design.name => design.id, development.name => development.id }
ids['roles'] = Role.all.to_h { |one| [one.name, one.id] }
told = { version: Redmine::VERSION.to_s, keys: keys, ids: ids }
File.write(ENV.fetch('SEED_OUT'), JSON.pretty_generate(told))
